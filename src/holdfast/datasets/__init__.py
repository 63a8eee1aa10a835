"""Raw data: named data sets, and tables of your own."""

from holdfast.datasets.columns import Reading as Reading
from holdfast.datasets.encoder import TableEncoder as TableEncoder
from holdfast.datasets.formats import ReadOptions as ReadOptions
from holdfast.datasets.load import CATALOGUE as CATALOGUE
from holdfast.datasets.load import Entry as Entry
from holdfast.datasets.load import load_dataset as load_dataset
from holdfast.datasets.load import make_multicollinearity as make_multicollinearity
from holdfast.datasets.load import make_separability as make_separability
from holdfast.datasets.load import open_data as open_data
from holdfast.datasets.tables import Dataset as Dataset
from holdfast.datasets.tables import read_rows as read_rows
from holdfast.datasets.tables import read_table as read_table
