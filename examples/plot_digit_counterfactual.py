"""
What would make this 3 an 8?
============================

For images a counterfactual can be looked at: the closest image that the classifier calls the digit of your choice. One
neighbour decides here, so the closest one is found exactly, for every digit that is asked for. How far each is from the
original says with which digits the classifier could confuse it.
"""

# %%
# Train
# -----
# scikit-learn's small digits, 8 by 8 pixels between 0 and 16 levels of grey.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, counterfactuals

X, y = load_digits(return_X_y=True)
train, rest = (X[:500], y[:500]), slice(500, None)
model = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1).fit(*train)
row = int(np.flatnonzero((y[rest] == 3) & (model.predict(X[rest]) == 3))[0])
image = X[rest][row]

# %%
# Ask for every digit
# -------------------
# One row for each question, one target for each row; pixels stay between 0 and 16. No change that is smaller by more
# than one percent leads to the digit: ``closest`` says that this is proven.

targets = np.array([digit for digit in range(10) if digit != 3])
found = counterfactuals(model, np.tile(image, (9, 1)), targets, threat=Threat(lower=0.0, upper=16.0))
assert (model.predict(found.points) == targets).all()
for k in np.argsort(found.size):
    print(f"a {targets[k]}: change of {found.size[k]:.1f}, proven: none below {found.lower_bound[k]:.1f}")

# %%
# Look
# ----
# Above the images that the classifier takes for other digits, below what was changed (blue: more ink, red: less).

figure, axes = plt.subplots(2, 10, figsize=(13, 3.1), layout="constrained")
axes[0, 0].imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
axes[0, 0].set_title("the 3", fontsize="medium")
for k, column in zip(np.argsort(found.size), axes.T[1:], strict=True):
    column[0].imshow(found.points[k].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    column[0].set_title(f"a {targets[k]}, {found.size[k]:.0f}", fontsize="medium")
    column[1].imshow((found.points[k] - image).reshape(8, 8), cmap="RdBu", vmin=-8, vmax=8)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[1, 0].axis("off")

# %%
# Few pixels
# ----------
# The closest change touches every pixel a little. Ask for a few, and the change becomes one that can be pointed at.
# There are too many sets of pixels to try them all, so they are dropped step by step: a valid answer, and a bound that
# is not tight.

nearest = targets[np.argmin(found.size)]
few = counterfactuals(model, image[None], nearest, threat=Threat(lower=0.0, upper=16.0), max_features=8)
print(few.sentences()[0])
figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2.7), layout="constrained")
left.imshow(found.points[np.argmin(found.size)].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
left.set(title=f"a {nearest}, all pixels", xticks=[], yticks=[])
if few.valid[0]:
    right.imshow(few.points[0].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
right.set(title=f"a {nearest}, at most 8 pixels", xticks=[], yticks=[])
plt.show()
