from quotree.start import main

main()
