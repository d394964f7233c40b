"""MLflow: what people browse. Built from DVC's files, and can be built again from them."""
