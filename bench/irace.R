# irace, whose target is at the other end of a socket: one line a run out, one cost back.
arguments <- commandArgs(TRUE)
suppressMessages(library(irace))
line <- socketConnection(host = "127.0.0.1", port = as.integer(arguments[1]), blocking = TRUE, open = "r+", timeout = 3600)
ask <- function(words) {
  writeLines(paste(words, collapse = "\t"), line)
  readLines(line, 1)
}
folder <- arguments[2]
parameters <- readParameters(file.path(folder, "parameters.txt"), digits = 8)
target <- function(experiment, scenario) {
  values <- sapply(experiment$configuration[parameters$names], as.character)
  list(cost = as.numeric(ask(c("run", experiment$id.instance, experiment$seed, values))))
}
forbidden <- file.path(folder, "forbidden.txt")
scenario <- list(
  targetRunner = target, instances = as.character(seq_len(as.integer(arguments[3]))),
  maxExperiments = as.integer(arguments[4]), seed = as.integer(arguments[5]), logFile = "", testType = arguments[6], digits = 8,
  configurationsFile = file.path(folder, "default.txt"), forbiddenFile = if (file.exists(forbidden)) forbidden else "",
  trainInstancesDir = "", trainInstancesFile = "", execDir = folder
)
scenario <- checkScenario(scenario)
# irace refuses budgets that are small for its number of iterations: fewer of them then, as few as it takes.
best <- NULL
for (iterations in c(0, 8:1)) {
  scenario$nbIterations <- iterations
  best <- tryCatch(irace(scenario = scenario, parameters = parameters), error = function(problem) {
    if (!grepl("Insufficient budget", conditionMessage(problem))) stop(problem)
  })
  if (!is.null(best)) break
}
if (is.null(best)) stop("Insufficient budget")
invisible(ask(c("best", sapply(best[1, parameters$names], as.character))))
