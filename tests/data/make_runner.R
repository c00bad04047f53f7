# Makes runner/irace.Rdata: `Rscript make_runner.R`, with R and irace 3.5. A short real run of a target-runner that is a
# program, with the default as its initial configuration, so that the log says all that a validation needs.
library(irace)
setwd("runner")
dir.create("train")
for (number in 1:10) writeLines(as.character(number), file.path("train", paste0(number, ".txt")))
scenario <- checkScenario(list(targetRunner = "./target-runner", trainInstancesDir = "./train", seed = 7, debugLevel = 0,
                               configurationsFile = "default.txt", maxExperiments = 180, logFile = "./irace.Rdata"))
irace(scenario, readParameters("parameters.txt"))
load("irace.Rdata")
# Where it was made is nobody's business.
for (path in c("targetRunner", "logFile", "parameterFile", "configurationsFile", "trainInstancesDir")) {
  iraceResults$scenario[[path]] <- basename(iraceResults$scenario[[path]])
}
iraceResults$scenario$execDir <- "."
iraceResults$scenario$instances <- file.path("train", basename(iraceResults$scenario$instances))
save(iraceResults, file = "irace.Rdata", compress = "xz")
unlink("train", recursive = TRUE)
