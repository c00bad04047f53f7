# Makes the logs in irace/: `Rscript make_irace.R`, with R and irace 3.5 (Debian: r-cran-irace).
#
# Each log is of a short real run on a target that is arithmetic. Beside each stands what R itself finds in it, as tables:
# NAME.csv the runs, NAME-test.csv those on test instances, NAME-log.csv irace's experimentLog with its column "bound",
# NAME-elites.csv who led after each iteration.
library(irace)

parameters <- readParameters(text = '
alpha "" r (0, 1)
size  "" i (1, 20)
kind  "" c (plain, fancy)
depth "" i (1, 9) | kind == "fancy"
')
instances <- sprintf("train/%02d.txt", 1:12)

# Seconds a run would take: harder with the number of the instance, different with every seed.
seconds <- function(configuration, instance, seed) {
  number <- as.integer(gsub("[^0-9]", "", instance))
  noise <- if (is.na(seed)) 1 else 0.8 + (seed %% 97) / 240
  extra <- if (configuration[["kind"]] == "fancy") configuration[["depth"]] / 9 else 0.4
  (0.2 + 6 * (configuration[["alpha"]] - number / 20)^2 + configuration[["size"]] / 20 + extra) * noise
}

plain <- function(experiment, scenario) {
  list(cost = seconds(experiment$configuration, experiment$id.instance, experiment$seed), time = 1)
}
capped <- function(experiment, scenario) {
  taken <- 2 * seconds(experiment$configuration, experiment$id.instance, experiment$seed)
  bound <- experiment$bound
  list(cost = min(taken, bound), time = min(taken, bound))
}
rejecting <- function(experiment, scenario) {
  if (experiment$configuration[["size"]] > 14) return(list(cost = Inf, time = 0.1))
  plain(experiment, scenario)
}
negated <- function(experiment, scenario) {
  list(cost = -100 + 10 * seconds(experiment$configuration, experiment$id.instance, experiment$seed), time = 1)
}
timed <- function(experiment, scenario) {
  taken <- seconds(experiment$configuration, experiment$id.instance, experiment$seed)
  list(cost = taken, time = taken)
}

make <- function(name, targetRunner, ...) {
  log <- file.path("irace", paste0(name, ".Rdata"))
  scenario <- checkScenario(modifyList(list(
    targetRunner = targetRunner, instances = instances, trainInstancesDir = "", logFile = log, seed = 7, debugLevel = 0
  ), list(...)))
  irace(scenario, parameters)
  if (length(scenario$testInstances)) {
    testing_fromlog(logFile = log, testNbElites = scenario$testNbElites, testIterationElites = scenario$testIterationElites)
  }
  load(log)
  # Where it was made is nobody's business.
  for (path in c("execDir", "logFile", "parameterFile")) iraceResults$scenario[[path]] <- basename(iraceResults$scenario[[path]])
  save(iraceResults, file = log, compress = "xz")
  table <- iraceResults$experiments
  pairs <- iraceResults$state$.irace$instancesList
  there <- which(!is.na(table), arr.ind = TRUE)
  row <- as.integer(rownames(table)[there[, 1]])
  write <- function(frame, ending) {
    write.csv(frame, file.path("irace", paste0(name, ending, ".csv")), row.names = FALSE, quote = FALSE)
  }
  write(data.frame(configuration = colnames(table)[there[, 2]], instance = instances[pairs$instance[row]],
                   seed = pairs$seed[row], cost = sprintf("%.17g", table[there])), "")
  log <- as.data.frame(iraceResults$experimentLog)
  log[] <- lapply(log, function(column) sprintf("%.17g", column))
  write(log, "-log")
  write(data.frame(iteration = rep(seq_along(iraceResults$allElites), lengths(iraceResults$allElites)),
                   configuration = unlist(iraceResults$allElites)), "-elites")
  test <- iraceResults$testing$experiments
  if (!is.null(test)) {
    there <- which(!is.na(test), arr.ind = TRUE)
    write(data.frame(configuration = colnames(test)[there[, 2]], instance = iraceResults$scenario$testInstances[there[, 1]],
                     seed = iraceResults$testing$seeds[there[, 1]], cost = sprintf("%.17g", test[there])), "-test")
  }
}

tests <- sprintf("test/%02d.txt", 13:18)
make("tested", plain, maxExperiments = 200, testInstances = tests, testInstancesDir = "", testIterationElites = 1,
     testNbElites = 2)
for (timeout in 0:1) {
  make(paste0("capped-", c("at-bound", "as-timeout")[timeout + 1]), capped, maxTime = 400, capping = 1, boundMax = 5,
       boundDigits = 1, boundAsTimeout = timeout, boundPar = 10, budgetEstimation = 0.1)
}
make("rejected", rejecting, maxExperiments = 200)
make("negated", negated, maxExperiments = 200)
make("timed", timed, maxTime = 250, budgetEstimation = 0.2)
make("deterministic", plain, maxExperiments = 200, deterministic = 1)
