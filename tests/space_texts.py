"""Parameter spaces in every format."""

import json

OLD_PCS = """\
# a solver
algo {greedy, walk ,tabu}[walk]  # three of them
tenure [1,1000][10]il
noise [0.0, 1] [0.5]
@1:F:scale[1e-6,0.1][0.01]l
depth [2,6] [5]i
flag{yes,no}[no]

Conditionals:
tenure | algo in {tabu}
noise | algo in {walk,tabu}
noise | flag in {no}
depth | tenure in {10, 20}
Forbidden:
{algo=greedy, flag=yes}
"""
NEW_PCS = """\
algo categorical {greedy, walk, tabu} [walk]
tenure integer [1, 1000] [10] log
noise real [0, 1] [0.5]
@1:F:scale real [1e-6, 0.1] [0.01] log
size ordinal {small, medium, large} [medium]
depth integer [2, 6] [5]
flag categorical {yes, no} [no]

tenure | algo == tabu
noise | algo != greedy && flag == no || size > medium
depth | tenure > 5 && tenure < 500
{algo=greedy, flag=yes}
{noise > 0.9 && depth >= 6}
"""
IRACE = """\
# name       switch           type  values               [conditions (using R syntax)]
algorithm    "--"             c     (as,mmas,"a,b",acs)
localsearch  "--localsearch " c     (0, 1, 2, 3)  # none, 2-opt, ...
alpha        "-a"             r     (0.00, 5.00)
rho          "--rho="         r,log (0.001, 1.00)
ants         "--ants "        i,log (5, 100)
size         "-s "            o     (small, medium, large)
q0           "--q0 "          r     (0.0, 1.0)           | algorithm == "acs"
nnls         "--nnls "        i     (5, 50)              | localsearch %in% c(1,2,3) & (ants <= 50 | size != "small")
dlb          ""               c     ("", "--dlb", "--dlb 2") | !(localsearch %in% c("0"))

[forbidden]
(alpha == 0.0) & (rho == 1)
algorithm == "mmas" & localsearch != 3
nnls > ants
[global]
digits = 3
"""
JSON = json.dumps(
    {
        "name": None,
        "hyperparameters": [
            {"type": "uniform_float", "name": "z", "lower": 0.001, "upper": 1.0, "log": True,
             "default_value": 0.01, "meta": None},
            {"type": "uniform_int", "name": "n", "lower": 1, "upper": 9, "log": False,
             "default_value": 3, "meta": None},
            {"type": "categorical", "name": "k", "choices": ["a", 2, True, None],
             "weights": [1, 1, 2, 0], "default_value": 2},
            {"type": "ordinal", "name": "o", "sequence": ["lo", "hi"], "default_value": "lo"},
            {"type": "constant", "name": "c", "value": 7},
            {"type": "normal_float", "name": "g", "mu": 0.5, "sigma": 0.2, "lower": 0.0,
             "upper": 1.0, "default_value": 0.5},
            {"type": "beta_int", "name": "b", "alpha": 2, "beta": 3, "lower": 0, "upper": 9,
             "default_value": 3},
            {"type": "categorical", "name": "h", "choices": ["u", "v"], "default_value": "u"},
        ],
        "conditions": [
            {"type": "EQ", "child": "n", "parent": "k", "value": 2},
            {"type": "EQ", "child": "o", "parent": "c", "value": 7},
            # In ConfigSpace this holds while n is inactive.
            {"type": "NEQ", "child": "h", "parent": "n", "value": 5},
        ],
        "forbiddens": [
            {"type": "AND", "clauses": [
                {"type": "EQUALS", "name": "n", "value": 5},
                {"type": "IN", "name": "o", "values": ["hi"]},
            ]},
        ],
        "python_module_version": "1.2.2",
        "format_version": 0.4,
    },
    indent=1,
)  # fmt: skip
TEXTS = {"old": OLD_PCS, "new": NEW_PCS, "irace": IRACE, "json": JSON}
