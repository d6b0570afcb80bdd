# Reference figures of complex samples, by R's survey, lme4, rr and RRreg.
# Run: Rscript judges.R /folder/of/rr/data/nigeria.RData > figures.json   (Debian: r-cran-survey r-cran-lme4 r-cran-jsonlite;
# rr and RRreg where their public sources were built, else their figures are left out)
# Data: A and B are made by integer formulas (again in tests/sampling/data.py).  N is rr's survey in Nigeria (2430 people,
# forced response), counted by answer, sex, marriage, education and civic membership: only these counts are kept.  S and
# C are the stratified and the clustered sample of California's schools of the package survey, counted by stratum and by
# district: only these counts are kept.
suppressMessages({library(survey); library(jsonlite); library(lme4)})
options(survey.lonely.psu = "fail", digits = 17)

values <- function(d, p00, p11) { d$p00 <- p00; d$p11 <- p11; d$r <- (d$answer - (1 - p00)) / (p00 + p11 - 1); d }

a <- data.frame(i = 0:239)
a <- within(a, { stratum <- i %/% 60; cluster <- i %/% 10; w <- 1 + ((7 * i) %% 11) / 4; group <- (i %/% 3) %% 2
  answer <- as.integer(((i * i * 31 + 17 * i) %% 101) < 35 + 8 * stratum + 10 * (cluster %% 3 == 0))
  x <- ((13 * i) %% 29) / 10 - 1.4; z <- (i * 5 + cluster) %% 2; sex <- i %% 2; age <- (i * i) %% 5; choice <- (i * 7 + cluster) %% 4
  people <- 600; units <- 20 })
a <- values(a, 0.8, 0.7)

j <- rep(0:35, 4 + (5 * (0:35)) %% 9)
b <- data.frame(i = seq_along(j) - 1, cluster = j)
b <- within(b, { stratum <- cluster %/% 12; w <- 0.5 + ((3 * i) %% 7) * (1 + stratum); group <- (i %/% 2) %% 2
  answer <- as.integer(((i * 37 + (cluster * cluster) %% 13 * 5) %% 100) < 40 + 25 * (cluster %% 4 == 0))
  x <- ((11 * i) %% 23) / 10 - 1.1; z <- (i * 3 + cluster) %% 2; sex <- i %% 2; age <- (i * i) %% 3; choice <- (i * 5 + cluster) %% 4
  people <- 1000; units <- 30 })
b <- values(b, 0.9, 0.6)

load(commandArgs(TRUE)[1])
table_n <- aggregate(list(people = rep(1, nrow(nigeria))), with(nigeria, list(answer = rr.q1, female = cov.female,
  married = cov.married, education = cov.education, civic = as.integer(civic))), sum)
n <- table_n[rep(seq_len(nrow(table_n)), table_n$people), ]
n$i <- seq_len(nrow(n)) - 1
n$stratum <- n$female; n$cluster <- n$education * 2 + n$married; n$group <- n$civic
n$w <- 1 + (n$i %% 7) / 3; n$people <- 5000; n$units <- 40
n$x <- n$education; n$z <- n$married
n <- values(n, 5 / 6, 5 / 6)

data(api)
apistrat$answer <- as.integer(apistrat$awards == "Yes"); apiclus1$answer <- as.integer(apiclus1$awards == "Yes")
table_s <- aggregate(list(people = rep(1, nrow(apistrat))), with(apistrat, list(answer = answer, stratum = as.character(stype), w = pw, size = fpc)), sum)
table_c <- aggregate(list(people = rep(1, nrow(apiclus1))), with(apiclus1, list(answer = answer, cluster = dnum, w = pw, size = fpc)), sum)
schools <- function(t, p00, p11) values(t[rep(seq_len(nrow(t)), t$people), ], p00, p11)

drawn <- function(d, weights, strata, clusters, fpc) {
  size <- if (clusters) d$units else d$people
  if (!strata) size <- length(unique(d$stratum)) * size
  d$fpc <- size
  suppressWarnings(svydesign(ids = if (clusters) ~cluster else ~1, strata = if (strata) ~stratum else NULL,
    weights = if (weights) ~w else NULL, fpc = if (fpc) ~fpc else NULL, data = d, nest = TRUE))
}
switches <- expand.grid(weights = c(FALSE, TRUE), strata = c(FALSE, TRUE), clusters = c(FALSE, TRUE), fpc = c(FALSE, TRUE))

shares <- function(d, s) {
  design <- do.call(drawn, c(list(d), s))
  one <- function(formula) {
    m <- svymean(formula, design, deff = "replace"); t <- svytotal(formula, design)
    list(mean = unname(coef(m)), se = unname(SE(m)), deff = unname(deff(m)), total = unname(coef(t)), total_se = unname(SE(t)),
         ci = as.vector(confint(m, df = degf(design))))
  }
  f <- if (s$fpc) with(design$fpc, sampsize / popsize)[, 1] else rep(0, nrow(d))
  w <- weights(design); r <- d$r
  by <- svyby(~r, ~group, design, svymean, covmat = TRUE)
  list(switches = s, freedom = degf(design), randomised = one(~r), direct = one(~answer),
       noise = sum(f * w^2 * (r^2 - r)) / sum(w)^2, total_noise = sum(f * w^2 * (r^2 - r)),
       groups = list(mean = unname(coef(by)), se = unname(SE(by)), difference_se = unname(SE(svycontrast(by, c(1, -1))))))
}

choices <- function(d, s) {
  q <- 1 / 6; c <- 1 / 3    # four options, sets of one, p = 1/2
  for (k in 0:3) d[[paste0("r", k)]] <- ((d$choice == k) - q) / c
  design <- do.call(drawn, c(list(d), s)); m <- svymean(~r0 + r1 + r2 + r3, design)
  list(switches = s, mean = unname(coef(m)), covariance = unname(vcov(m)))
}

replicates <- function(d, strata) {
  design <- drawn(d, TRUE, strata, TRUE, FALSE)
  kind <- if (strata) "JKn" else "JK1"
  each <- function(mse) { rep <- as.svrepdesign(design, type = kind, mse = mse); unname(SE(svymean(~r, rep))) }
  made <- sapply(0:11, function(k) d$w * (0.5 + ((d$i + k * (1 + d$i %% 3)) %% 5) / 4))
  given <- function(mse) {
    rep <- svrepdesign(data = d, weights = ~w, repweights = made, type = "other", scale = 0.3, rscales = (1:12) / 4, combined.weights = TRUE, mse = mse)
    m <- svymean(~r, rep); list(mean = unname(coef(m)), se = unname(SE(m)), freedom = degf(rep))
  }
  list(strata = strata, kind = kind, estimate = each(TRUE), mean = each(FALSE), given_estimate = given(TRUE), given_mean = given(FALSE))
}

calibrations <- function(d, s) {
  d$cell <- 10 * d$age + d$sex
  design <- do.call(drawn, c(list(d), s))
  ages <- sort(unique(d$age)); total <- 120 * length(ages)
  sex <- data.frame(sex = 0:1, Freq = c(0.45, 0.55) * total); age <- data.frame(age = ages, Freq = 120)
  cells <- data.frame(cell = sort(unique(d$cell))); cells$Freq <- 40 + 10 * seq_len(nrow(cells))
  ps <- postStratify(design, ~cell, cells)
  rk <- rake(design, list(~sex, ~age), list(sex, age), control = list(maxit = 1000, epsilon = 1e-12, verbose = FALSE))
  population <- c(`(Intercept)` = total, sex = 0.55 * total, setNames(rep(120, length(ages) - 1), paste0("factor(age)", ages[-1])))
  cal <- calibrate(design, ~sex + factor(age), population, calfun = "raking", maxit = 200, epsilon = 1e-13)
  jk <- as.svrepdesign(design, type = if (s$strata) "JKn" else "JK1", mse = TRUE)
  rj <- rake(jk, list(~sex, ~age), list(sex, age), control = list(maxit = 1000, epsilon = 1e-12, verbose = FALSE))
  pair <- function(design) { m <- svymean(~r, design); t <- svytotal(~r, design); list(mean = unname(coef(m)), se = unname(SE(m)), total = unname(coef(t)), total_se = unname(SE(t))) }
  list(switches = s, post = c(pair(ps), list(weights = head(unname(weights(ps)), 12))),
       raked = c(pair(cal), list(weights = head(unname(weights(rk)), 12))), raked_jackknife = pair(rj))
}

responses <- function(d) {    # who answered, by formula; d$w before
  d$there <- as.integer((d$i * 29) %% 17 < 9 + 3 * d$sex)
  fit <- suppressWarnings(glm(there ~ sex + x, quasibinomial, d, weights = w, control = list(epsilon = 1e-14, maxit = 100)))
  design <- drawn(d, TRUE, TRUE, TRUE, FALSE); jk <- as.svrepdesign(design, type = "JKn", mse = TRUE)
  m <- withReplicates(jk, function(w, data) {
    p <- fitted(suppressWarnings(glm(there ~ sex + x, quasibinomial, cbind(data, ww = w), weights = ww, control = list(epsilon = 1e-14, maxit = 100))))
    sum(w * data$there * data$r / p) / sum(w * data$there / p) })
  list(coefficients = unname(coef(fit)), mean = as.numeric(m)[1], jackknife_se = unname(SE(m)))
}

curves <- list(logit = list(s = plogis, d = dlogis, d2 = function(e) dlogis(e) * (1 - 2 * plogis(e))),
               probit = list(s = pnorm, d = dnorm, d2 = function(e) -e * dnorm(e)))
regressions <- function(d, s) {
  design <- do.call(drawn, c(list(d), s))
  glms <- lapply(c(logit = "logit", probit = "probit"), function(link) {
    fit <- svyglm(answer ~ x + z, design, family = quasibinomial(link), control = list(epsilon = 1e-14, maxit = 100))
    list(coefficients = unname(coef(fit)), se = unname(SE(fit))) })
  linear <- svyglm(r ~ x + z, design)
  pseudo <- lapply(curves, function(curve) {    # maximum pseudo-likelihood by Newton; its variance by svytotal of influences
    Z <- cbind(1, d$x, d$z); w <- weights(design); q1 <- ifelse(d$answer == 1, d$p11, 1 - d$p11); q0 <- ifelse(d$answer == 1, 1 - d$p00, d$p00)
    beta <- c(0, 0, 0)
    for (step in 1:200) {
      e <- as.vector(Z %*% beta); L <- q0 + (q1 - q0) * curve$s(e); g <- (q1 - q0) * curve$d(e) / L
      J <- crossprod(Z, w * (g^2 - (q1 - q0) * curve$d2(e) / L) * Z); G <- crossprod(Z, w * g)
      move <- as.vector(solve(if (step < 30) crossprod(Z, w * ((q1 - q0) * curve$d(e))^2 / (L * (1 - L)) * Z) else J, G))
      beta <- beta + move }
    influence <- (g * Z) %*% solve(J)
    list(coefficients = beta, se = unname(SE(svytotal(influence, design))))})
  list(switches = s, glm = glms, linear = list(coefficients = unname(coef(linear)), se = unname(SE(linear))), pseudo = pseudo)
}

by_svymle <- function(d) {    # the same by svymle, whose Hessian is numerical
  design <- drawn(d, TRUE, TRUE, TRUE, FALSE); p11 <- d$p11[1]; p00 <- d$p00[1]
  loglike <- function(y, eta) { mu <- 1 - p00 + (p00 + p11 - 1) * plogis(eta); ifelse(y == 1, log(mu), log(1 - mu)) }
  gradient <- function(y, eta) { c <- p00 + p11 - 1; mu <- 1 - p00 + c * plogis(eta); matrix((y - mu) / (mu * (1 - mu)) * c * dlogis(eta)) }
  fit <- svymle(loglike = loglike, gradient = gradient, design = design, formulas = list(eta = answer ~ x + z), start = list(c(0, 0, 0)), method = "BFGS", control = list(reltol = 1e-15, maxit = 1000))
  list(coefficients = unname(coef(fit)), se = unname(SE(fit)))
}

intercepts <- function(d) {
  d$answer <- as.integer((d$i * 37) %% 100 < 20 + 12 * (d$cluster %% 6))
  fit <- glmer(answer ~ x + z + (1 | cluster), d, family = binomial, nAGQ = 25, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(maxfun = 1e6, rhoend = 1e-10)))
  list(coefficients = unname(fixef(fit)), sigma = unname(sqrt(VarCorr(fit)$cluster[1])), log_likelihood = as.numeric(logLik(fit)))
}

every <- function(d, f) lapply(seq_len(nrow(switches)), function(k) f(d, as.list(switches[k, ])))
both <- list(list(weights = TRUE, strata = TRUE, clusters = TRUE, fpc = FALSE), list(weights = TRUE, strata = FALSE, clusters = FALSE, fpc = FALSE), list(weights = TRUE, strata = TRUE, clusters = TRUE, fpc = TRUE))
school <- function(t, clusters) {
  d <- schools(t, 0.8, 0.7)
  design <- svydesign(ids = if (clusters) ~cluster else ~1, strata = if (clusters) NULL else ~stratum, weights = ~w, fpc = ~size, data = d)
  one <- function(formula) { m <- svymean(formula, design); t <- svytotal(formula, design); list(mean = unname(coef(m)), se = unname(SE(m)), total = unname(coef(t)), total_se = unname(SE(t)), ci = as.vector(confint(m, df = degf(design)))) }
  w <- weights(design); r <- d$r; f <- with(design$fpc, sampsize / popsize)[, 1]
  list(rows = t, freedom = degf(design), direct = one(~answer), randomised = one(~r), noise = sum(f * w^2 * (r^2 - r)) / sum(w)^2)
}
found <- list(
  versions = list(R = as.character(getRversion()), survey = as.character(packageVersion("survey")), lme4 = as.character(packageVersion("lme4"))),
  nigeria = table_n, stratified_schools = school(table_s, FALSE), clustered_schools = school(table_c, TRUE),
  shares = list(A = every(a, shares), B = every(b, shares), N = every(n, shares)),
  choices = list(A = lapply(both, function(s) choices(a, s)), B = lapply(both, function(s) choices(b, s))),
  replicates = list(A = lapply(c(FALSE, TRUE), function(s) replicates(a, s)), B = lapply(c(FALSE, TRUE), function(s) replicates(b, s))),
  calibrations = list(A = lapply(both[1:2], function(s) calibrations(a, s)), B = lapply(both[1:2], function(s) calibrations(b, s))),
  responses = list(A = responses(a), B = responses(b)),
  regressions = list(A = every(a, regressions), B = every(b, regressions), N = every(n, regressions)),
  svymle = list(A = by_svymle(a), B = by_svymle(b), N = by_svymle(n)),
  intercepts = list(A = intercepts(a), B = intercepts(b))
)
if (requireNamespace("rr", quietly = TRUE)) {
  fit <- rr::rrreg(answer ~ x + z + female, data = n, p = 2 / 3, p1 = 1 / 6, p0 = 1 / 6, design = "forced-known")
  found$rr <- list(version = as.character(packageVersion("rr")), coefficients = unname(coef(fit)), se = unname(sqrt(diag(vcov(fit)))))
}
if (requireNamespace("RRreg", quietly = TRUE)) {
  fit <- RRreg::RRlog(answer ~ x + z + female, data = n, model = "FR", p = c(1 / 6, 1 / 6))
  found$RRreg <- list(version = as.character(packageVersion("RRreg")), coefficients = unname(fit$coefficients), se = unname(sqrt(diag(fit$vcov))))
}
if (requireNamespace("RRreg", quietly = TRUE)) {    # the stochastic lie detector, with a covariate
  i <- 0:1999; sld <- data.frame(group = i %% 2 + 1, x = ((13 * i) %% 29) / 10 - 1.4)
  sld$answer <- as.integer((i * i * 31 + 17 * i + 7 * (i %/% 50)) %% 101 < ifelse(sld$group == 1, 28, 52) + 6 * sld$x)
  set.seed(1); fit <- RRreg::RRlog(answer ~ x, data = sld, model = "SLD", p = c(0.8, 0.4), group = sld$group, n.fit = 10, EM.max = 3000, optim.max = 3000)
  found$lie_detector <- list(ones = sum(sld$answer), coefficients = unname(fit$coefficients), log_likelihood = fit$logLik)
}
cat(toJSON(found, digits = NA, auto_unbox = TRUE), "\n")
