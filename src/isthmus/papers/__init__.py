"""The five papers, one file each, as they print their methods; ``--method …-paper`` runs these files.

``cocc``
    Dai, Xue, Yang and Yu, "Co-clustering based classification for out-of-domain documents", KDD 2007.
``projection``
    Zheng, Liu, Teng and Sun, "Efficient text classification using term projection", AIRS 2009.
``dual``
    Sindhwani, Hu and Mojsilovic, "Regularized co-clustering with dual supervision", NIPS 2008.
``strings``
    Ionescu and Butnaru, "Transductive learning with string kernels for cross-domain text classification", ICONIP 2018.
``guided``
    Bhattacharya, Godbole, Joshi and Verma, "Cross-guided clustering: transfer of relevant supervision across domains
    for improved clustering", ICDM 2009.

Each file has one function per equation, in sparse matrix form, and a small estimator. A comment names each choice that
a paper's text leaves open.
"""
