// docs/METRICS.md, made from the catalog and the label sets.
#ifndef MCSCOPE_METRICS_METRICS_PAGE_H_
#define MCSCOPE_METRICS_METRICS_PAGE_H_

#include <string>

namespace mcscope::metrics {

// The whole page, as Markdown. The same for the same build: a test compares it with the file.
std::string MetricsPage();

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_METRICS_PAGE_H_
