"""Controllers of Pods that wait at Quotree's scheduling gate until a project's quota has room for them."""
