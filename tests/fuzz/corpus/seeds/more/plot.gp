set ylabel "tps"
set yrange [900:1100]
set style data histograms
plot "r.dat" using 2 with boxes
