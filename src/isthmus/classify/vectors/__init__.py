"""Methods on vectors of whole documents (dense rows): centroids that settle in the target."""
