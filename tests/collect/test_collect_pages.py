"""The survey page in a real Chromium: a person answers, the owner watches; tampering and hostile text get nowhere."""

import base64
import json

import pytest

from rrcollect import Design, SigningKey
from server_agg import open_store
from tests.inside.collect import incoming
from tests.support.browser import Visit, accessible, unfold
from tests.support.collector_running import BEARER, JSON, ROOT, TOKEN, RunningCollector, report
from tests.support.devices import KEY, VECTORS, cases, load, question, survey
from tests.support.element import serve_sources
from tests.support.kept_rows import kept_rows

HOSTILE = '<img src=x onerror="document.title=\'owned\'"> <script>document.title="owned"</script> =cmd|calc!A1'
FOCUSED = "document.querySelector('rr-survey').shadowRoot.activeElement"
VECTOR_FILES = ("draws", "sets", "asked", "numbers", "drawn", "settings", "tickets", "explained", "words")
LATE = """const real = crypto.getRandomValues.bind(crypto);  // the moment of sending is the last that may be drawn
crypto.getRandomValues = (array) => (array.byteLength === 7 ? array.fill(255) : real(array));"""


@pytest.fixture
def visit(browser):
    with Visit(browser, viewport={"width": 390, "height": 844}) as one:
        yield one


def sign_in(page, title="Clean sport"):
    """The owner enters the token, and opens the survey."""
    page.get_by_label("Owner's token").fill(TOKEN)
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("button", name=title).click()


def only_here(visit, collector):
    """No third-party request, no policy violation, no script error."""
    strangers = [url for url in visit.requests if not url.startswith((collector.url, "blob:" + collector.url))]
    assert strangers == []
    assert [c for c in visit.complaints if "401" not in c] == []


def test_a_person_answers_and_the_owner_sees_the_count_grow(collector, visit, browser):
    digest = collector.page_of(segments={"sport": ["run", "ski"]})
    with Visit(browser) as owner:
        results = owner.page(f"{collector.url}/")
        sign_in(results)
        results.get_by_text("0 of the 2 answers needed").wait_for()
        accessible(results)
        other = report(digest)
        collector.post(other.to_bytes())  # waits for the person's

        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text("One answer in four is switched before it leaves this device. So a “yes”").wait_for()
        page.get_by_text("not protected: it is sent as you choose it").wait_for()
        assert not page.get_by_text("this device changes it by chance in at least 25 of 100 cases").is_visible()
        for folded in ("Details", "How does this protect me?"):  # the odds are one tap away
            page.get_by_text(folded).click()
        page.get_by_text("this device changes it by chance in at least 25 of 100 cases").wait_for()
        page.get_by_text("can come to think one of them at most 3 times as likely as the other").wait_for()
        page.get_by_text("ε = 1.099, δ = 0").wait_for()
        page.get_by_text("A lost, reset or new device does not remember").wait_for()
        page.get_by_text("In a private window this device forgets").wait_for()
        theirs = page.locator("details.protection .foreign").all_inner_texts()
        assert theirs == [f"{collector.url}/reports", "sport: run, ski"]
        assert page.locator("#spent").inner_text() == ""  # before sending nothing but the promise
        accessible(page)
        page.get_by_label("sport").select_option(label="ski")
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("It was received.").wait_for()
        page.locator("#spent", has_text="at most 3 times as likely as the other. For your whole life").wait_for()
        page.get_by_text("has given away about one part in ten of what it will ever give away").wait_for()
        page.get_by_text("You can close this page now.").wait_for()
        accessible(page)

        results.locator(".answers", has_text="2").wait_for()
        first = page.locator("[data-report]").get_attribute("data-report")
        sent = page.locator(".sent").text_content()
        assert sent in ("“yes”", "“no”")

        page.reload()  # asked again: the same report
        page.get_by_text("It was received.").wait_for()
        assert page.locator("[data-report]").get_attribute("data-report") == first
        assert page.locator(".sent").text_content() == sent
        assert collector.results()["surveys"][0]["answers"] == 2
        (row,) = [row for row in open_rows(collector) if row.id != other.id]
        assert row.id == first
        assert json.loads(row.segments) == {"sport": "ski"}
        only_here(visit, collector)
        only_here(owner, collector)
        assert visit.context.cookies() == []


def test_the_surveys_own_texts_are_shown_in_the_persons_language(collector, browser):
    sport = {"values": [{"value": "run", "label": {"en": "Running", "de": "Laufen"}}], "label": {"en": "Sport"}}
    asked = question(text={"en": "Ever doped?", "de": "Je gedopt?"}, help={"en": "In twelve months."})
    texts = {"introduction": "First line\nsecond line", "consent": {"en": "I agree.", "de": "Ich stimme zu."}}
    texts |= {"contact": "survey@example.org", "privacy": "https://example.org/p", "thanks": "<b>Many thanks</b>"}
    digest = collector.page_of(asked, segments={"sport": sport}, **texts)
    with Visit(browser, locale="de-AT") as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        for said in (
            "Je gedopt?",
            "In twelve months.",
            "Ich stimme zu.",
            "survey@example.org",
            "https://example.org/p",
        ):
            page.get_by_text(said).wait_for()
        assert page.locator("[data-text=introduction]").inner_text() == "First line\nsecond line"
        assert not page.locator("#thanks").is_visible()
        assert page.get_by_role("link", name="https://example.org/p").get_attribute("rel") == "noopener noreferrer"
        accessible(page)
        page.get_by_label("Sport").select_option(label="Laufen")
        page.get_by_role("radio", name="Ja").click()
        page.get_by_role("button", name="Senden").click()
        page.get_by_text("<b>Many thanks</b>").wait_for()
        page.locator(".state", has_text="Die Antwort ist angekommen.").wait_for()
        assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["de", "ltr"]
        assert page.locator("#thanks").get_attribute("lang") == "en"  # each text is marked with its own language
        assert page.locator("[data-text=consent]").get_attribute("lang") == "de"
        (row,) = open_rows(collector)
        assert json.loads(row.segments) == {"sport": "run"}
        only_here(visit, collector)


def open_rows(collector):
    store = collector.store
    gathered = store.epochs.consistently(lambda cursor: store.epochs.gathered(cursor).rows)
    return [report.row for report in store.epochs.waiting()] + gathered + kept_rows(store)


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


def test_two_tabs_and_a_later_survey_repeat_the_one_draw(collector, visit):
    one = collector.page_of()
    two = collector.page_of(question(text="The same, in other words?"), name="another")
    pages = [visit.page(f"{collector.url}/s/{digest}") for digest in (one, one, two)]
    for page in pages:
        page.get_by_role("radio", name="No").click()
    for page in pages:
        page.get_by_role("button", name="Send").click(no_wait_after=True)
    for page in pages:
        page.get_by_text("It was received.").wait_for()
    assert len({page.locator(".sent").text_content() for page in pages}) == 1
    ids = [page.locator("[data-report]").get_attribute("data-report") for page in pages]
    assert ids[0] == ids[1] != ids[2]
    assert len({row.answer for row in open_rows(collector)}) == 1
    pages[0].reload()
    unfold(pages[0])
    pages[0].locator("#spent", has_text="at most 3 times").wait_for()  # the second survey cost nothing more


def test_answering_by_keyboard_alone_and_declining(collector, visit):
    digest = collector.page_of(question(), question(id="q2", attribute="b", text="Another?"))
    page = visit.page(f"{collector.url}/s/{digest}")
    first = page.locator('[data-question="q1"]')
    first.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    first.get_by_text("Choose yes or no first").wait_for()
    page.keyboard.press("Space")  # the focus was moved to the first choice
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first.get_by_text("It was received.").wait_for()
    second = page.locator('[data-question="q2"]')
    second.get_by_role("button", name="I prefer not to answer").click()
    second.get_by_text("You declined. Nothing was sent.").wait_for()
    assert page.evaluate(FOCUSED + ".id") == "text-q2"
    page.reload()
    second.get_by_text("You declined").wait_for()
    assert len(open_rows(collector)) == 1
    second.get_by_role("button", name="Answer after all").click()
    second.get_by_role("radio", name="Yes").click()
    second.get_by_role("button", name="Send").click()
    second.get_by_text("It was received.").wait_for()
    assert len(open_rows(collector)) == 2


def test_a_later_round_is_asked_for_in_the_address(collector, visit):
    digest = collector.page_of(question(rounds=3))
    for number in ("1", "2"):
        page = visit.page(f"{collector.url}/s/{digest}#round={number}")
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("It was received.").wait_for()
    unfold(page)
    page.locator("#spent", has_text="at most 9 times").wait_for()  # every round is a draw, and is paid for
    assert sorted(row.round for row in open_rows(collector)) == [0, 1]


def test_a_tampered_envelope_is_refused_on_screen(collector, visit):
    digest = collector.page_of()
    parts = json.loads(collector.request("GET", f"/surveys/{digest}")[1])
    payload = base64.b64decode(parts["payload"]).replace(b"Clean sport", b"Dirty sport")
    parts["payload"] = base64.b64encode(payload).decode()
    forged = json.dumps(parts, separators=(",", ":"), sort_keys=True)
    visit.context.route("**/surveys/*", lambda route: route.fulfill(body=forged, content_type="application/json"))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_text("This survey was refused").wait_for()
    assert page.get_by_text("BadSignature").count() == 1
    assert page.get_by_text("Dirty").count() == 0
    assert page.locator("[role=radio]").count() == 0
    accessible(page)


def test_a_withdrawn_survey_says_so_and_asks_nothing(collector, visit):
    made = collector.publication()
    digest = collector.publish(made)
    address = f"/surveys/{digest}/withdrawal"
    forged = made.survey.withdraw([SigningKey.generate()])
    kind = "application/json"
    visit.context.route(f"**{address}", lambda route: route.fulfill(status=200, body=forged, content_type=kind))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("radio", name="Yes").wait_for()  # a notice that its publisher did not sign means nothing
    visit.context.unroute(f"**{address}")
    assert collector.request("POST", address, made.survey.withdraw([KEY]), JSON)[0] == 201
    page.reload()
    page.get_by_role("heading", name="This survey was withdrawn by its publisher.").wait_for()
    accessible(page)
    assert page.get_by_role("radio").count() == 0


def test_another_survey_of_the_same_publisher_is_not_slipped_in(collector, visit):
    digest = collector.page_of()
    other = survey(name="other").publish([KEY]).envelope
    visit.context.route("**/surveys/*", lambda route: route.fulfill(body=other, content_type="application/json"))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_text("not the one you asked for").wait_for()


def test_a_lost_connection_keeps_the_answer_and_sends_it_later(collector, visit):
    digest = collector.page_of()
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("radio", name="Yes").click()
    visit.context.route("**/reports", lambda route: route.abort())
    page.get_by_role("button", name="Send").click()
    page.get_by_text("kept here and is sent later").wait_for(timeout=30_000)
    assert open_rows(collector) == []
    visit.context.unroute("**/reports")
    page.reload()
    page.get_by_text("It was received.").wait_for(timeout=60_000)  # at the moment drawn for its next attempt
    assert len(open_rows(collector)) == 1


def test_an_invitation_from_the_address_is_used_once(collector, browser):
    digest = collector.page_of(invite_only=True)
    _, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":1}', {**JSON, **BEARER})
    for words in ("It was received.", "It was not taken"):
        with Visit(browser) as person:
            page = person.page(f"{collector.url}/s/{digest}#invite={made['invites'][0]}")
            page.get_by_text("Your invitation was read from the link.").wait_for()
            assert page.url == f"{collector.url}/s/{digest}"
            page.get_by_role("radio", name="Yes").click()
            page.get_by_role("button", name="Send").click()
            page.get_by_text(words).wait_for()
    assert len(open_rows(collector)) == 1


def test_the_choice_is_one_stop_for_tab_and_moves_by_arrows(collector, visit):
    page = visit.page(f"{collector.url}/s/{collector.page_of()}")
    yes, no = page.get_by_role("radio", name="Yes"), page.get_by_role("radio", name="No")
    yes.focus()
    checked = lambda: [one.get_attribute("aria-checked") for one in (yes, no)]  # noqa: E731
    assert checked() == ["false", "false"]
    for key, wanted in (
        ("Space", ["true", "false"]),
        ("ArrowRight", ["false", "true"]),
        ("ArrowDown", ["true", "false"]),
        ("ArrowLeft", ["false", "true"]),
        ("ArrowUp", ["true", "false"]),
    ):
        page.keyboard.press(key)
        assert checked() == wanted
    assert [one.get_attribute("tabindex") for one in (yes, no)] == ["0", "-1"]
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED + ".textContent") == "Send"
    assert page.locator("form, input, fieldset").count() == 0  # nothing whose state a browser saves
    accessible(page)


@pytest.mark.parametrize("declined", [True, False])
def test_what_was_drawn_is_shown_when_it_has_left_and_not_before(collector, visit, declined):
    """Its moment comes by the page's clock."""
    visit.context.add_init_script(LATE)
    visit.context.clock.install()
    page = visit.page(f"{collector.url}/s/{collector.page_of()}")
    gate = []
    visit.context.route("**/reports", lambda route: gate.append(route.request.url))
    page.get_by_role("radio", name="Yes").click()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Drawn, not sent yet.").wait_for()
    assert page.locator(".sent").count() == 0
    if declined:  # a no is a no
        page.get_by_role("button", name="Do not send it").click()
        page.get_by_text("You declined. Nothing was sent.").wait_for()
        page.clock.fast_forward(10_000)
        page.evaluate(
            "async () => { await indexedDB.databases(); await new Promise((next) => setTimeout(next, 100)); }"
        )
        assert gate == []
    else:
        with page.expect_request("**/reports"):
            page.clock.fast_forward(10_000)
        assert page.locator(".sent").count() == 0  # it is under way
    assert open_rows(collector) == []


def test_a_survey_that_cannot_be_answered_now_says_why_in_a_sentence(collector, visit):
    later, past = "2099-01-01T00:00:00Z", [{"opens": "2020-01-01T00:00:00Z", "closes": "2020-02-01T00:00:00Z"}]
    for number, (changes, words) in enumerate(
        (
            ({"opens": later}, "This survey is not open yet. It opens on "),
            ({"rounds": [{"opens": later, "closes": "2099-02-01T00:00:00Z"}]}, "Round 1 is not open yet."),
            ({"rounds": past}, "Round 1 closed on "),
        )
    ):
        page = visit.page(f"{collector.url}/s/{collector.page_of(name=f's{number}', **changes)}")
        page.get_by_text(words).wait_for()
        assert page.locator("[role=radio]").count() == 0
        accessible(page)
    pilot = visit.page(f"{collector.url}/s/{collector.page_of(name='pilot', pilot=True)}")
    pilot.locator("#pilot", has_text="This is a trial: its answers are never counted").wait_for()
    missing = visit.page(f"{collector.url}/s/{collector.page_of(name='round')}#round=2")
    missing.get_by_text("This survey has no round 2.").wait_for()


def test_a_page_of_another_origin_says_where_the_survey_is_answered(collector, visit):
    digest = collector.page_of()
    elsewhere = visit.page(f"http://localhost:{collector.port}/s/{digest}")
    elsewhere.get_by_text("This survey is not answered here").wait_for()
    accessible(elsewhere)
    elsewhere.get_by_role("link", name=collector.url).click()
    elsewhere.get_by_role("radio", name="Yes").wait_for()


def test_a_mistyped_invitation_is_told_before_anything_is_drawn(collector, visit):
    digest = collector.page_of(invite_only=True)
    _, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":1}', {**JSON, **BEARER})
    (invite,) = made["invites"]
    page = visit.page(f"{collector.url}/s/{digest}#invite={invite[:-1]}")
    page.get_by_text("The code in the link is mistyped or cut off.").wait_for()
    unfold(page)
    page.get_by_text("Whoever issued the invites can tell which answers came from one invite.").wait_for()
    page.get_by_role("radio", name="Yes").click()
    for typed, words in (("", "Enter your invitation code first."), (invite[::-1], "The invitation code is mistyped.")):
        page.get_by_label("Your invitation code").fill(typed)
        page.get_by_role("button", name="Send").click()
        page.get_by_text(words).wait_for()
    assert page.get_by_role("radio", name="Yes").get_attribute("aria-checked") == "true"  # not to be chosen again
    page.get_by_label("Your invitation code").fill(f" {invite[:13].upper()}-{invite[13:].upper()} ")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("It was received.").wait_for()
    (row,) = open_rows(collector)
    assert invite not in page.content()
    assert invite not in str(row)


def hostile(collector):
    asked = question(text=HOSTILE, rounds=3)
    return collector.page_of(asked, title=HOSTILE[:200], segments={"sport": ["ski", "=1+1", HOSTILE[:200]]})


def filled(collector, digest, many=400):
    rows = []
    for number in range(many):
        group = ["ski", "=1+1", HOSTILE[:200]][number % 3]
        made = report(digest, answer=str(int(number % 7 < 3)), segments={"sport": group}, round=number // 3 % 3)
        rows.append(incoming(made.row))
    collector.store.take(rows)


def test_hostile_text_is_shown_not_run(collector, visit):
    digest = hostile(collector)
    filled(collector, digest)
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("heading", name="<script>").first.wait_for()
    assert page.locator("main img, main script").count() == 0
    results = visit.page(f"{collector.url}/")
    sign_in(results, "<script>")
    results.get_by_role("img", name="Estimate").wait_for()
    results.get_by_text("<script>").first.wait_for()
    assert results.locator("main img, main script").count() == 0
    for shown in (page, results):
        assert "owned" not in shown.title() or "<script>" in shown.title()
        accessible(shown)
    only_here(visit, collector)


def test_dark_mode_is_legible_too(collector, browser):
    digest = hostile(collector)
    filled(collector, digest)
    with Visit(browser, color_scheme="dark") as one:
        page = one.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name="Yes").wait_for()
        accessible(page)
        results = one.page(f"{collector.url}/")
        sign_in(results, "<script>")
        results.get_by_role("img", name="Estimate").wait_for()
        accessible(results)


def test_a_page_tells_what_the_survey_can_make_this_browser_send(collector, visit):
    two = (question(rounds=4), question(id="q2", attribute="b", text="All is well.\nNothing is sent."))
    listed = [collector.url, "https://survey.example.org"]
    page = visit.page(f"{collector.url}/s/{collector.publish(collector.publication(*two, origins=listed, pilot=True))}")
    unfold(page)
    page.locator('[data-question="q1"] .short', has_text="at most 6570 times").wait_for()  # 3^(4 rounds · 2 origins)
    page.locator('[data-question="q1"] .odds', has_text="at most 6570 times").wait_for()
    assert "at most 9 times" in page.locator('[data-question="q2"] .short').inner_text()
    assert page.get_by_text("proves nothing").count() == 0
    told = page.locator("section", has_text="What leaves this device").inner_text()
    for said in ("This is a trial", "at most 59100 times", "at 2 addresses", "or new device does not remember"):
        assert said in told
    assert "Nothing is sent" not in told + page.locator('[data-question="q2"] .odds').inner_text()


def test_the_vectors_pass_in_chromium(collector, visit):
    given = {kind: cases(kind) for kind in ("surveys", "reports", "withdrawals")}
    given |= {name: load(VECTORS / f"{name}.json") for name in VECTOR_FILES}
    judge = (ROOT / "tests/collect/js/judge.mjs").read_text()
    serve_sources(visit.context)
    visit.context.route("**/assets/judge.mjs", lambda route: route.fulfill(body=judge, content_type="text/javascript"))
    page = visit.page(f"{collector.url}/")
    found = page.evaluate(
        """async (given) => {
            const rr = await import("/sources/index.mjs");
            const { judge } = await import("/assets/judge.mjs");
            return judge(rr, JSON.parse(given));
        }""",
        json.dumps(given),  # as text: Playwright's own way loses a key named "constructor"
    )
    assert found["wrong"] == []
    assert found["judged"] > 1000


def test_a_page_without_the_design_it_was_published_with_cannot_be_answered(collector):
    """The collector, the page's last resort: a report by another matrix is not counted."""
    digest = collector.page_of()
    status, said = collector.post(report(digest, design=Design("1", "1/2")).to_bytes())
    assert (status, said["error"]) == (422, "wrong_design")
