"""What several tests need of the inside of the product, by its folder: a module that moves changes one line here."""
