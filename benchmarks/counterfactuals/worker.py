"""Runs in the peer's own interpreter: ``python worker.py PEER MODEL SPLIT.npz OUT.json``; imports nothing of ours.

The peer gets the same fitted pipeline, the same training rows, and is told what it lets one say: DiCE which columns may
vary, NICE which columns are categories (it has no way to say that these must stay).
"""

import json
import signal
import sys
import time
import warnings

import numpy as np

SECONDS = 10  # of processor time a row; then it counts as without an answer


class TimeUp(Exception):
    """A row took too long."""


def _stop(signum, frame):
    raise TimeUp


def dice(kind, X, y, numbers, predict_model):
    """DiCE on all columns as numbers; only the numbers may vary."""
    import dice_ml
    import pandas as pd

    names = [f"c{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="y")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=predict_model, backend="sklearn"), method=kind)
    vary = [name for name, number in zip(names, numbers, strict=True) if number]

    def explain(row):
        options = {"random_seed": 0} if kind == "random" else {}
        found = explainer.generate_counterfactuals(
            pd.DataFrame(row[None], columns=names),
            total_CFs=1,
            desired_class="opposite",
            features_to_vary=vary,
            verbose=False,
            **options,
        )
        return found.cf_examples_list[0].final_cfs_df[names].to_numpy(dtype=float)[0]

    return explain


def nice(kind, X, y, numbers, predict_model):
    """NICE; one-hot columns are its categories."""
    from nice import NICE

    explainer = NICE(
        predict_fn=predict_model.predict_proba,
        X_train=X,
        y_train=y,
        cat_feat=np.flatnonzero(~numbers).tolist(),
        num_feat=np.flatnonzero(numbers).tolist(),
        optimization=kind,
        justified_cf=True,
    )
    return lambda row: np.asarray(explainer.explain(row[None].copy()), dtype=float)[0]


PEERS = {
    "dice_random": (dice, "random"),
    "dice_kdtree": (dice, "kdtree"),
    "dice_genetic": (dice, "genetic"),
    "nice_proximity": (nice, "proximity"),
    "nice_sparsity": (nice, "sparsity"),
}


def model_of(name):
    """The same model as in sets.py."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    last = {
        "knn1": KNeighborsClassifier(1),
        "knn5": KNeighborsClassifier(5),
        "logistic": LogisticRegression(max_iter=2000),
    }[name]
    return make_pipeline(MinMaxScaler(), last)


def main(peer, model, split, out):
    """Explain every test row; write points (null: none), seconds of processor time and errors."""
    warnings.filterwarnings("ignore")
    with np.load(split) as file:
        X, y, test, numbers = file["train"], file["labels"], file["test"], file["numbers"]
    fitted = model_of(model).fit(X, y)
    make, kind = PEERS[peer]
    explain = make(kind, X, y, numbers, fitted)
    signal.signal(signal.SIGPROF, _stop)
    lines = []
    for row in test:
        start, point, error = time.process_time(), None, None
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            point = explain(row).tolist()
        except TimeUp:
            error = f"more than {SECONDS} s"
        except Exception as problem:  # a peer may fail in any way: that is a result
            error = f"{type(problem).__name__}: {problem}"[:200]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        lines.append({"point": point, "seconds": time.process_time() - start, "error": error})
    with open(out, "w") as file:
        json.dump({"prediction": fitted.predict(test).tolist(), "rows": lines}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
