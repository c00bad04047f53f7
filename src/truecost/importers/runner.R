# Runs a target runner that is a function of R, out of the log of irace that has it:
#   Rscript runner.R LOG CONFIGURATION NUMBER SEED INSTANCE [BOUND]
# Configurations are those of the log, by their number. Prints the cost, and the time if there is one.
words <- commandArgs(trailingOnly = TRUE)
saved <- new.env()
load(words[1], envir = saved)
log <- saved$iraceResults
scenario <- log$scenario
parameters <- if (is.null(log$parameters)) scenario$parameters else log$parameters
configurations <- log$allConfigurations
configuration <- configurations[configurations$.ID. == as.integer(words[2]), , drop = FALSE]
if (nrow(configuration) != 1) stop("the log has no configuration ", words[2])
bound <- if (length(words) > 5) as.numeric(words[6]) else NULL
number <- suppressWarnings(as.integer(words[3]))
if (is.na(number)) number <- words[3]
instance <- words[5]
# Where instances are numbers, the function calculates with them.
if (is.numeric(scenario$instances)) storage.mode(instance) <- storage.mode(scenario$instances)
values <- configuration[, parameters$names, drop = FALSE]
# irace 3 and irace 4 call the same things by different names.
experiment <- list(
    id.configuration = as.integer(words[2]), id_configuration = as.integer(words[2]),
    id.instance = number, id_instance = number, seed = as.integer(words[4]),
    configuration = values, instance = instance, bound = bound, switches = parameters$switches)
# What the function prints must not be taken for its answer.
sink(stderr())
result <- scenario$targetRunner(experiment, scenario)
sink()
if (!is.null(result$error)) stop(result$error)
time <- if (is.null(result$time) || is.na(result$time)) NULL else result$time
cat(format(c(result$cost, time), digits = 15, trim = TRUE), "\n")
