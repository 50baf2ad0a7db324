// PORT SIZE COUNT: that many sets of SIZE bytes, one after the other, through the unmodified npm
// client, each read back once at the end. Prints one JSON object; exit status 1 on any error.
"use strict";

const MemcacheClient = require("memcache-client");
const version = require("memcache-client/package.json").version;

const warmUps = 3; // the first sets on a connection never stall: the kernel acknowledges at once
const [port, size, count] = process.argv.slice(2).map(Number);
if (![port, size, count].every((number) => Number.isInteger(number) && number > 0)) {
  console.error("usage: client.js PORT SIZE COUNT");
  process.exit(2);
}

function valueOf(index) {
  return `${index} `.padEnd(size, "abcdefghijklmnopqrstuvwxyz").slice(0, size);
}

function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

async function main() {
  const client = new MemcacheClient({ server: `127.0.0.1:${port}`, cmdTimeout: 10000 });
  const times = [];
  let errors = 0;
  for (let index = -warmUps; index < count; ++index) {
    const start = process.hrtime.bigint();
    try {
      await client.set(`npm-${size}-${index}`, valueOf(index));
    } catch (error) {
      ++errors;
    }
    if (index >= 0) times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  for (let index = 0; index < count; ++index) {
    const reply = await client.get(`npm-${size}-${index}`);
    if (!reply || reply.value !== valueOf(index)) ++errors;
  }
  client.shutdown();
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({
    client: `memcache-client ${version}`,
    sets: times.length,
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    errors,
  }));
  process.exitCode = errors ? 1 : 0;
}

main().catch((error) => {
  console.error(`memcache-client: ${error.message}`);
  process.exit(1);
});
