"""The settings of the oTree project; what rrcollect needs is in doped/__init__.py."""

from os import environ

SESSION_CONFIGS = [{"name": "doped", "app_sequence": ["doped"], "num_demo_participants": 4}]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.00, "participation_fee": 0.00, "doc": ""}
PARTICIPANT_FIELDS: list[str] = []
SESSION_FIELDS: list[str] = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "EUR"
USE_POINTS = True
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = environ.get("OTREE_ADMIN_PASSWORD")
DEMO_PAGE_INTRO_HTML = ""
SECRET_KEY = environ.get("OTREE_SECRET_KEY", "of this example")
