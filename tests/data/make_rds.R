# Makes the files in rds/: `Rscript make_rds.R`, in this folder.
runs <- data.frame(
    algorithm = factor(rep(c("fast", "slow"), each = 3)), instance = rep(c("a", "b", "c"), 2),
    cost = c(1.5, 2, NA, 3, 4.25, 5), status = c("ok", "ok", "timeout", "ok", "ok", "ok"))
saveRDS(runs, "rds/runs.rds")
saveRDS(runs, "rds/plain.rds", compress = FALSE, version = 2)
saveRDS(1:3, "rds/other.rds")
