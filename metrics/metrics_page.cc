#include "metrics/metrics_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "metrics/bucket_bounds.h"
#include "metrics/catalog.h"
#include "metrics/labels.h"
#include "metrics/leg.h"
#include "protocol/command.h"
#include "protocol/framer.h"

namespace mcscope::metrics {
namespace {

constexpr char kIntroduction[] = R"(# Metrics

<!-- Generated from metrics/catalog.cc and metrics/metrics_page.cc. After a change there:
     cmake --build --preset dev --target mcscope_metrics_doc
     build/dev/bin/mcscope_metrics_doc > docs/METRICS.md -->

`GET /metrics` on the admin address, in Prometheus' text format 0.0.4. `GET /legs.json` has the
percentiles of the last 10 and 60 seconds per command, for people and scripts.

## The legs of an exchange

```
   request read                reply read
first        last    handed   first        last    handed
 byte        byte    over     byte         byte    over
  |-----------|---------|-------|-----------|---------|--> time
   client_read  request_  upstream_  upstream_  client_
                queue     wait       read       write
```

LEGS
All moments are read from the monotonic clock around the system calls, in nanoseconds. The legs
telescope: **the five of an exchange add up to its total exactly.** So the sums of the legs add up
to the sum of `mcscope_request_duration_seconds`; their quantiles don't.

What the proxy can't see: the time a byte waits in the kernel before it is read, and the way of the
reply to the app after the kernel took it. These are service times of requests that were sent; a
client that waits for a stalled reply sends fewer, so the stall weighs less here than for the app.

## Requests without a reply

noreply and quiet requests that memcached did not answer have the first two legs only. They are in
`mcscope_requests_total{result="none"}`, `mcscope_request_reads` and
`mcscope_unanswered_leg_duration_seconds`, and in no other histogram and no quantile. Requests cut
off by the end of their connection (`result="aborted"`), and requests that memcached answered before
they were complete, are in `mcscope_requests_total` only.

## Arms

Without `--ab` every session is arm `a`. With it, `--ab_percent` of the sessions are arm `b`,
whose treatments differ as listed. The arm of a request is fixed when the request starts.

## How exact a quantile is

Two kinds of histograms record each duration.

* **Fine**, inside the process: 64 buckets per octave up to 137 s. `/legs.json` and
  `mcscope_leg_quantile_seconds` come from these; a value is within 1 % of the sample at that rank
  (0.8 % at worst, exact below 128 ns).
* **Classic**, in the exposition: the edges of `--buckets`. A bucket counts durations up to and
  including its edge, exactly. `histogram_quantile()` interpolates inside a bucket: its error is up
  to the width of the bucket that the quantile falls into, and nothing above the last edge is told
  apart.

The edges by default lie closer around the times that TCP waits by itself: delayed ACKs (40 and
200 ms), retransmissions (200 ms and more), lost SYNs (1 s, 3 s). They are

```
EDGES
```

## Windows

Once a second the gains of the fine histograms are put aside; the 10 s and 60 s windows are the sums
of those taken within them. A window without a sample has no series: neither 0 nor NaN would be
true. Quantiles of several commands, arms or proxies can't be combined: use the classic histograms.

)";

constexpr char kExamples[] = R"(
## Examples

The 99th percentile of each leg:

```
histogram_quantile(0.99, sum by (leg, le) (rate(mcscope_leg_duration_seconds_bucket[1m])))
```

Where the time goes, as shares of the total:

```
sum by (leg) (rate(mcscope_leg_duration_seconds_sum[1m]))
  / ignoring (leg) group_left sum(rate(mcscope_leg_duration_seconds_sum[1m]))
```

Arm `a` beside arm `b`, sets only:

```
histogram_quantile(0.99,
  sum by (arm, le) (rate(mcscope_request_duration_seconds_bucket{command="set"}[5m])))
```

Hit ratio of gets:

```
sum(rate(mcscope_requests_total{command="get",result="hit"}[1m]))
  / sum(rate(mcscope_requests_total{command="get",result=~"hit|miss"}[1m]))
```

Stalls per second, and the share of requests that took 35 to 50 ms to arrive:

```
sum by (leg, arm) (rate(mcscope_stalls_total[1m]))
sum(rate(mcscope_leg_duration_seconds_bucket{leg="client_read",le="0.05"}[1m])
    - ignoring (le) rate(mcscope_leg_duration_seconds_bucket{leg="client_read",le="0.035"}[1m]))
  / sum(rate(mcscope_leg_duration_seconds_count{leg="client_read"}[1m]))
```

Writes towards memcached per request (1 with coalesce on and no pipelines):

```
sum(rate(mcscope_writes_total{side="upstream"}[1m])) / sum(rate(mcscope_requests_total[1m]))
```

When a setting was changed:

```
changes(mcscope_setting_changes_total[1m]) > 0
```
)";

struct LegRow {
  Leg leg;
  absl::string_view from;
  absl::string_view to;
  absl::string_view long_means;
};

constexpr LegRow kLegRows[] = {
    {Leg::kClientRead, "first byte of the request read", "last byte of the request read",
     "the app splits its writes, Nagle holds them, or its link is slow"},
    {Leg::kRequestQueue, "last byte read", "last byte handed to the kernel towards memcached",
     "the proxy or memcached's socket is backed up"},
    {Leg::kUpstreamWait, "handed over", "first byte of the reply read",
     "network and memcached (and, pipelined, the replies ahead)"},
    {Leg::kUpstreamRead, "first byte", "last byte of the reply read",
     "large values, memcached's own split writes"},
    {Leg::kClientWrite, "last byte read", "last byte handed to the kernel towards the app",
     "the app reads slowly"},
};

std::string Code(absl::string_view text) { return absl::StrCat("`", text, "`"); }

std::string LegTable() {
  std::string table = "| leg | from | to | what a long one means |\n|---|---|---|---|\n";
  for (const LegRow& row : kLegRows) {
    absl::StrAppend(&table, "| ", Code(Name(row.leg)), " | ", row.from, " | ", row.to, " | ",
                    row.long_means, " |\n");
  }
  return table;
}

void AddMetric(const MetricInfo& info, std::string* page) {
  absl::StrAppend(page, "\n### `", info.name, "`\n\n", Name(info.type));
  if (!info.labels().empty()) {
    absl::StrAppend(
        page, " by ",
        absl::StrJoin(info.labels(), ", ", [](std::string* out, absl::string_view label) {
          absl::StrAppend(out, Code(label));
        }));
  }
  absl::StrAppend(page, "\n\n", info.help);
  if (!info.meaning.empty()) absl::StrAppend(page, " ", info.meaning);
  absl::StrAppend(page, "\n\nSeries: ", info.exists, "\n");
}

// A row of the table of label values: those of an enumeration of `count` values.
template <typename Value>
void AddValues(absl::string_view label, size_t count, std::string* page) {
  absl::StrAppend(page, "| ", Code(label), " |");
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppend(page, i == 0 ? " " : ", ", Code(Name(static_cast<Value>(i))));
  }
  absl::StrAppend(page, " |\n");
}

void AddLabels(std::string* page) {
  absl::StrAppend(page,
                  "\n## Label values\n\nClosed sets: never a key, a value or a client's address. "
                  "`route` and `name` are as configured.\n\n| label | values |\n|---|---|\n"
                  "| `command` |");
  for (size_t i = 0; i < protocol::kCommandCount; ++i) {
    absl::StrAppend(page, i == 0 ? " " : ", ",
                    Code(protocol::Info(static_cast<protocol::Command>(i)).name));
  }
  absl::StrAppend(page, " |\n");
  AddValues<protocol::Result>("result", protocol::kResultCount, page);
  AddValues<Leg>("leg", kLegCount, page);
  AddValues<Arm>("arm", kArmCount, page);
  AddValues<Side>("side", kSideCount, page);
  absl::StrAppend(page, "| `direction` | `received`, `sent`: by the proxy, on that side |\n");
  AddValues<CloseCause>("cause", kCloseCauseCount, page);
  AddValues<protocol::OpaqueReason>("reason", protocol::kOpaqueReasonCount, page);
}

}  // namespace

std::string MetricsPage() {
  std::string page = absl::StrReplaceAll(
      kIntroduction,
      {{"LEGS", LegTable()}, {"EDGES", absl::StrReplaceAll(kDefaultBuckets, {{",", " "}})}});
  absl::StrAppend(&page, "## The metrics\n");
  for (const MetricInfo& info : Catalog()) AddMetric(info, &page);
  AddLabels(&page);
  absl::StrAppend(&page, kExamples);
  return page;
}

}  // namespace mcscope::metrics
