"""The public names of server_agg.plan, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from server_agg.estimates.central_privacy import central_privacy as central_privacy
from server_agg.plan.cost import Price as Price
from server_agg.plan.cost import price as price
from server_agg.plan.detection import power as power
from server_agg.plan.detection import power_curve as power_curve
from server_agg.plan.pictures import plot_region as plot_region
from server_agg.plan.pictures import plot_switch as plot_switch
from server_agg.plan.procedures import compare_choices as compare_choices
from server_agg.plan.procedures import compare_numbers as compare_numbers
from server_agg.plan.procedures import compare_procedures as compare_procedures
from server_agg.plan.procedures import plot_choices as plot_choices
from server_agg.plan.rehearsal import rehearse as rehearse
from server_agg.plan.size import epsilon as epsilon
from server_agg.plan.size import margin as margin
from server_agg.plan.size import sample_size as sample_size
