"""The result of an audit in one sentence."""

from holdfast.numerics.formatting import number, percent


def verdict(models: list[dict], found: dict[str, dict], radius: float, p_value: float | None) -> dict:
    """The result at the radius, as ``{"sentence", "detail", "tone"}``.

    Parameters
    ----------
    models : list of dict
        ``key`` and ``method``, the robust one last.
    found : dict
        By key: the errors at the radius, as in the summary.
    radius : float
    p_value : float or None
        Of the difference between the two certified errors.
    """
    last = models[-1]
    robust, n = found[last["key"]], found[last["key"]]["rows"]
    kept = 1 - robust["certified_error"]
    where = f"within {number(radius)} standard deviations"
    sentence = f"{percent(kept)} of the test predictions of {last['method']} are right and proven to stay so {where}"
    detail = [f"This rests on {n} test rows."]
    if len(models) == 1:
        return {"sentence": sentence + ".", "detail": detail[0], "tone": "plain"}
    first = models[0]
    base = found[first["key"]]
    gain = base["certified_error"] - robust["certified_error"]
    cost = robust["clean_error"] - base["clean_error"]
    tone = "even" if abs(gain) * n < 0.5 else "better" if gain > 0 else "worse"
    if tone == "even":
        sentence += f", as many as of {first['method']}."
    else:
        sentence += f", against {percent(1 - base['certified_error'])} of {first['method']}."
    if abs(cost) * n < 0.5:
        detail.insert(0, "Without an attack the two are right equally often.")
    else:
        less = "more" if cost < 0 else "less"
        detail.insert(
            0,
            f"Without an attack {last['method']} is right {less} often: {percent(1 - robust['clean_error'])} "
            f"against {percent(1 - base['clean_error'])}.",
        )
    if tone != "even" and p_value is not None and p_value > 0.05:
        detail[-1] = f"This rests on {n} test rows: a difference of this size could be chance (p = {p_value:.2f})."
        tone = "unclear"
    return {"sentence": sentence, "detail": " ".join(detail), "tone": tone}
