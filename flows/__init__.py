"""Prefect: when and where DVC's stages run. The stages and their order are DVC's."""
