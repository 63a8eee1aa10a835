"""Raw data: named data sets, and tables of your own."""

from holdfast.datasets.catalogue import CATALOGUE as CATALOGUE
from holdfast.datasets.catalogue import Entry as Entry
from holdfast.datasets.dataset import Dataset as Dataset
from holdfast.datasets.encoder import TableEncoder as TableEncoder
from holdfast.datasets.formats import ReadOptions as ReadOptions
from holdfast.datasets.load import load_dataset as load_dataset
from holdfast.datasets.open import open_data as open_data
from holdfast.datasets.reading import Reading as Reading
from holdfast.datasets.table import read_rows as read_rows
from holdfast.datasets.table import read_table as read_table
from holdfast.datasets.toy import make_multicollinearity as make_multicollinearity
from holdfast.datasets.toy import make_separability as make_separability
