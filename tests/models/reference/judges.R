# Reference figures of tables, choices and fits of samples, by R's stats, nnet, MASS and survey.
# Run: Rscript judges.R > figures.json   (Debian: r-recommended r-cran-survey r-cran-jsonlite)
# Data: A and B are made by integer formulas, as in tests/sampling/reference/judges.R (again in tests/sampling/data.py);
# the columns added here are made again in tests/models/data.py.
suppressMessages({library(survey); library(jsonlite); library(nnet); library(MASS)})
options(survey.lonely.psu = "fail", digits = 17)

a <- data.frame(i = 0:239)
a <- within(a, { stratum <- i %/% 60; cluster <- i %/% 10; w <- 1 + ((7 * i) %% 11) / 4; group <- (i %/% 3) %% 2
  answer <- as.integer(((i * i * 31 + 17 * i) %% 101) < 35 + 8 * stratum + 10 * (cluster %% 3 == 0))
  x <- ((13 * i) %% 29) / 10 - 1.4; z <- (i * 5 + cluster) %% 2; age <- (i * i) %% 5; people <- 600; units <- 20 })
j <- rep(0:35, 4 + (5 * (0:35)) %% 9)
b <- data.frame(i = seq_along(j) - 1, cluster = j)
b <- within(b, { stratum <- cluster %/% 12; w <- 0.5 + ((3 * i) %% 7) * (1 + stratum); group <- (i %/% 2) %% 2
  answer <- as.integer(((i * 37 + (cluster * cluster) %% 13 * 5) %% 100) < 40 + 25 * (cluster %% 4 == 0))
  x <- ((11 * i) %% 23) / 10 - 1.1; z <- (i * 3 + cluster) %% 2; age <- (i * i) %% 3; people <- 1000; units <- 30 })
added <- function(d) within(d, {
  level <- ((i * i * 7 + 3 * i) %% 97) / 24 + 0.5 * x + 0.4 * z + 0.3 * (cluster %% 3 == 1)
  rank <- as.integer(pmin(3, pmax(0, floor(level))))             # 0, 1, 2, 3
  later <- as.integer(ifelse((i * 11) %% 5 < 2, (rank + 1 + i %% 3) %% 4, rank))
  said <- as.integer((rank + ((i * 29) %% 10 >= 7) * (1 + (i * 17) %% 3)) %% 4)   # as if kept with chance 7/10
  told <- as.integer(xor(answer == 1, (i * 43) %% 10 >= 8))      # as if kept with chance 8/10
  second <- as.integer(((i * 53 + 40 * answer) %% 100) < 45)
  told2 <- as.integer(xor(second == 1, (i * 71) %% 10 >= 9))     # and 9/10
})
a <- added(a); b <- added(b)

drawn <- function(d, fpc = FALSE) { d$fpc <- d$units
  svydesign(ids = ~cluster, strata = ~stratum, weights = ~w, fpc = if (fpc) ~fpc else NULL, data = d, nest = TRUE) }
plain <- function(m) unname(as.vector(m))

# ---- regressions of a choice ---------------------------------------------------------------------------------------
kept <- function(k, p) matrix((1 - p) / (k - 1), k, k) + diag(k) * (p - (1 - p) / (k - 1))
multinomial_shares <- function(theta, Z, k) { e <- exp(cbind(0, Z %*% matrix(theta, ncol(Z)))); e / rowSums(e) }
ordinal_shares <- function(theta, X, k, F) { p <- ncol(X); eta <- outer(-as.vector(X %*% theta[1:p]), theta[p + 1:(k - 1)], "+")
  below <- cbind(F(eta), 1); below - cbind(0, below[, -k]) }
climbed <- function(start, shares, said, Q, w) {
  down <- function(theta) { s <- shares(theta); L <- rowSums(s * Q[said + 1, ]); if (any(s < 0) || any(L <= 0)) 1e10 else -sum(w * log(L)) }
  slope <- function(theta) { h <- 1e-4; sapply(seq_along(theta), function(j) { e <- replace(0 * theta, j, h)
    (8 * (down(theta + e) - down(theta - e)) - (down(theta + 2 * e) - down(theta - 2 * e))) / (12 * h) }) }
  for (again in 1:4) { top <- optim(start, down, slope, method = "BFGS", control = list(reltol = 1e-16, maxit = 2000)); start <- top$par }
  list(coefficients = top$par, log_likelihood = -top$value, se = sqrt(diag(solve(optimHess(top$par, down, slope))))) }
options_of <- function(d) {
  Z <- cbind(1, d$x, d$z); X <- Z[, -1]; k <- 4; Q <- kept(k, 0.7); one <- rep(1, nrow(d))
  m <- multinom(factor(rank) ~ x + z, d, trace = FALSE, reltol = 1e-16, abstol = 1e-16, maxit = 5000)
  polrs <- sapply(c("logistic", "probit"), simplify = FALSE, function(how) {
    f <- polr(factor(rank) ~ x + z, d, method = how, Hess = TRUE, control = list(reltol = 1e-16, maxit = 2000))
    list(coefficients = plain(c(coef(f), f$zeta)), log_likelihood = as.numeric(logLik(f)), se = plain(sqrt(diag(vcov(f))))) })
  even <- qlogis((1:3) / 4)
  weighted <- drawn(d); jk <- as.svrepdesign(weighted, type = "JKn", mse = TRUE)
  by_jk <- withReplicates(jk, function(w, data) { data$ww <- w
    as.vector(t(coef(multinom(factor(rank) ~ x + z, data, weights = ww, trace = FALSE, reltol = 1e-14, abstol = 1e-14, maxit = 5000)))) })
  olr <- svyolr(factor(rank) ~ x + z, weighted, control = list(reltol = 1e-16, maxit = 2000))
  noisy_m <- climbed(rep(0, 9), function(t) multinomial_shares(t, Z, k), d$said, Q, one)
  weighted_m <- climbed(noisy_m$coefficients, function(t) multinomial_shares(t, Z, k), d$said, Q, d$w)
  list(multinom = list(coefficients = plain(t(coef(m))), log_likelihood = as.numeric(logLik(m)), se = plain(sqrt(diag(vcov(m))))),
    polr = polrs,
    noisy = list(multinomial = noisy_m, logit = climbed(c(0, 0, even), function(t) ordinal_shares(t, X, k, plogis), d$said, Q, one),
      probit = climbed(c(0, 0, even / 1.7), function(t) ordinal_shares(t, X, k, pnorm), d$said, Q, one), weighted = weighted_m$coefficients),
    jackknife = list(coefficients = plain(coef(by_jk)), se = plain(SE(by_jk))),
    svyolr = list(coefficients = plain(c(olr$coefficients, olr$zeta)), se = plain(sqrt(diag(vcov(olr)))))) }

# ---- fits of samples -----------------------------------------------------------------------------------------------
fits <- function(d) {
  design <- drawn(d); jk <- as.svrepdesign(design, type = "JKn", mse = TRUE); whole <- drawn(d, TRUE)
  one <- function(f) list(coefficients = plain(coef(f)), se = plain(SE(f)))
  glm_of <- function(s) svyglm(answer ~ x + z, s, family = quasibinomial(), control = list(epsilon = 1e-15, maxit = 100))
  part <- subset(design, group == 1)
  test <- regTermTest(glm_of(design), ~ x + z)
  list(jackknife = one(glm_of(jk)), whole = one(glm_of(whole)), part = c(one(glm_of(part)), freedom = degf(part)),
    linear_jackknife = one(svyglm(answer ~ x + z, jk)), wald = as.numeric(test$Ftest) * test$df,
    linear_part = one(svyglm(answer ~ x + z, part))) }

# ---- tables --------------------------------------------------------------------------------------------------------
tables <- function(d) {
  n <- nrow(d); t <- table(d$group, d$rank); waves <- table(d$rank, d$later); two <- table(d$answer, d$second)
  pearson <- suppressWarnings(chisq.test(t, correct = FALSE))
  apart <- (rowSums(waves) - colSums(waves))[-4]; spread <- (diag(rowSums(waves) + colSums(waves)) - waves - t(waves))[-4, -4]
  woolf <- glm(second ~ answer, binomial, d, control = list(epsilon = 1e-15, maxit = 100))
  joint <- function(theta) { e <- exp(c(0, theta)); e / sum(e) }
  Q1 <- kept(2, 0.8); Q2 <- kept(2, 0.9)
  L <- function(pi) rowSums(sapply(1:4, function(c) Q1[d$told + 1, (c - 1) %/% 2 + 1] * Q2[d$told2 + 1, (c - 1) %% 2 + 1] * pi[c]))
  down <- function(theta) -sum(log(L(joint(theta))))
  top <- optim(c(0, 0, 0), down, method = "BFGS", control = list(reltol = 1e-16, maxit = 5000)); for (k in 1:5) top <- optim(top$par, down, method = if (k %% 2) "Nelder-Mead" else "BFGS", control = list(reltol = 1e-16, maxit = 5000))
  alone <- function(said, Q) { f <- function(p) -sum(log(Q[said + 1, 1] * (1 - p) + Q[said + 1, 2] * p)); optimize(f, c(0, 1), tol = 1e-12)$objective }
  S <- kept(4, 0.7); noisy <- function(theta) { pi <- joint(theta); -sum(log(rowSums(sapply(1:8, function(c) (d$group + 1 == (c - 1) %/% 4 + 1) * S[d$said + 1, (c - 1) %% 4 + 1] * pi[c])))) }
  eight <- optim(rep(0, 7), noisy, method = "BFGS", control = list(reltol = 1e-16, maxit = 5000)); for (k in 1:5) eight <- optim(eight$par, noisy, method = if (k %% 2) "Nelder-Mead" else "BFGS", control = list(reltol = 1e-16, maxit = 20000))
  list(pearson = plain(pearson$statistic), pearson_p = pearson$p.value, g2 = loglin(t, list(1, 2), print = FALSE)$lrt,
    mcnemar = plain(mcnemar.test(two, correct = FALSE)$statistic), bowker = plain(mcnemar.test(waves, correct = FALSE)$statistic),
    stuart_maxwell = as.numeric(apart %*% solve(spread, apart)), log_odds = plain(coef(woolf)[2]), log_odds_se = plain(sqrt(vcov(woolf)[2, 2])),
    noisy = list(shares = joint(top$par), log_likelihood = -top$value, g2 = 2 * (alone(d$told, Q1) + alone(d$told2, Q2) - top$value)),
    groups = list(shares = joint(eight$par), log_likelihood = -eight$value)) }
complex_tables <- function(d) {
  d$r <- (d$told - 0.2) / 0.6; d$r2 <- (d$told2 - 0.1) / 0.8
  d$yy <- d$r * d$r2; d$yn <- d$r * (1 - d$r2); d$ny <- (1 - d$r) * d$r2; d$nn <- (1 - d$r) * (1 - d$r2)
  design <- drawn(d); means <- svymean(~ yy + yn + ny + nn, design)
  f <- function(how) { t <- svychisq(~ group + rank, design, statistic = how); list(statistic = plain(t$statistic), p = plain(t$p.value), df = plain(t$parameter)) }
  logs <- svycontrast(means, quote(log(yy * nn / (yn * ny))))
  by <- svyby(~r, ~age, design, svymean, covmat = TRUE); V <- vcov(by); m <- coef(by); k <- length(m)
  L <- cbind(-1, diag(k - 1)); wald <- as.numeric(t(L %*% m) %*% solve(L %*% V %*% t(L), L %*% m))
  linear <- regTermTest(svyglm(r ~ factor(age), design), ~ factor(age))
  ratio <- svyratio(~yy, ~yn, design)
  # Rao and Scott by the covariances of the products of deviations, whose law under independence they are
  g <- outer(d$group, 0, "=="); s <- outer(d$rank, 0:2, "=="); mg <- svymean(g * 1, design); ms <- svymean(s * 1, design)
  u <- (g[, 1] - coef(mg)) * sweep(s, 2, coef(ms)); mu <- svymean(u, design)
  p1 <- coef(mg); null <- (p1 * (1 - p1)) * (diag(coef(ms)) - outer(coef(ms), coef(ms))) / nrow(d)
  delta <- solve(null, vcov(mu)); x2 <- as.numeric(coef(mu) %*% solve(null, coef(mu))); trace <- sum(diag(delta)); d0 <- trace^2 / sum(diag(delta %*% delta)); nu <- degf(design)
  list(cells = plain(coef(means)), se = plain(SE(means)), wald = f("adjWald"), first = f("Chisq"), second = f("F"),
    own = list(wald = as.numeric(coef(mu) %*% solve(vcov(mu), coef(mu))), x2 = x2, f = x2 / trace, df = c(d0, d0 * nu), p = pf(x2 / trace, d0, d0 * nu, lower.tail = FALSE)),
    log_odds = plain(coef(logs)), log_odds_se = plain(SE(logs)), groups = wald, groups_svyglm = as.numeric(linear$Ftest) * linear$df,
    pairs = lapply(2:k, function(c) { e <- rep(0, k); e[1] <- 1; e[c] <- -1; x <- svycontrast(by, e); list(value = plain(coef(x)), se = plain(SE(x))) }),
    ratio = list(value = plain(coef(ratio)), se = plain(SE(ratio)))) }

both <- function(f) list(A = f(a), B = f(b))
found <- list(versions = list(R = as.character(getRversion()), survey = as.character(packageVersion("survey")), nnet = as.character(packageVersion("nnet")), MASS = as.character(packageVersion("MASS"))),
  sums = both(function(d) as.list(colSums(d[c("rank", "later", "said", "told", "second", "told2")]))),
  options = both(options_of), fits = both(fits), tables = both(tables), complex = both(complex_tables))
cat(toJSON(found, digits = NA, auto_unbox = TRUE, pretty = 1), "\n")
