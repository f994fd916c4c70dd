import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readVersion } from '../../../src/lib/package-version.ts';
import type { MetricSources, ServerFigures } from '../../../src/telemetry/gauges.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { metricSources } from '../../support/metric-sources.ts';

function metricsOf(sources: Partial<MetricSources> = {}): Metrics {
  return createMetrics(metricSources(sources));
}

/** The samples of one metric, as they stand in the text. */
async function samplesOf(metrics: Metrics, name: string): Promise<string[]> {
  const lines = (await metrics.expose()).split('\n');
  return lines.filter((line) => line.startsWith(name));
}

test('requests are counted by route, status and code, into buckets that add up', async () => {
  const metrics = metricsOf();
  metrics.httpRequest('wakeup', 202, 0, 0.0005);
  metrics.httpRequest('wakeup', 202, 0, 0.004);
  metrics.httpRequest('wakeup', 202, 0, 60);
  metrics.httpRequest('wakeup', 404, 40412, 0.001);
  const samples = await samplesOf(metrics, 'reveille_http_request_duration_seconds');
  const accepted = 'route="wakeup",status="202",code="0"';
  const buckets = samples.filter((line) => line.includes(`_bucket{${accepted}`));
  const counts = buckets.map((line) => Number(line.split(' ')[1]));
  assert.deepEqual(counts, [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
  assert.ok(buckets[0]?.includes('le="0.0005"'));
  assert.ok(buckets.at(-1)?.includes('le="+Inf"'));
  assert.ok(samples.includes(`reveille_http_request_duration_seconds_sum{${accepted}} 60.0045`));
  assert.ok(samples.includes(`reveille_http_request_duration_seconds_count{${accepted}} 3`));
  assert.ok(
    samples.includes(
      'reveille_http_request_duration_seconds_count{route="wakeup",status="404",code="40412"} 1',
    ),
  );
});

test('counters are exposed as zero before the first count', async () => {
  const metrics = metricsOf();
  assert.deepEqual(await samplesOf(metrics, 'reveille_wakeups_total'), [
    'reveille_wakeups_total{outcome="accepted"} 0',
    'reveille_wakeups_total{outcome="repeated"} 0',
    'reveille_wakeups_total{outcome="failed"} 0',
    'reveille_wakeups_total{outcome="unknown"} 0',
    'reveille_wakeups_total{outcome="refused"} 0',
  ]);
  assert.equal((await samplesOf(metrics, 'reveille_sleep_logins_total')).length, 5);
  assert.equal((await samplesOf(metrics, 'reveille_sleep_ends_total')).length, 9);
});

test('logins, ends, wakeups and refused signatures count by their label, and keep counting after a scrape', async () => {
  const metrics = metricsOf();
  metrics.sleepLogin('accepted');
  metrics.sleepLogin('denied');
  metrics.sleepEnd('write_stuck');
  metrics.wakeup('accepted');
  metrics.authFailure('signature_mismatch');
  await metrics.expose();
  metrics.wakeup('accepted');
  const text = await metrics.expose();
  for (const sample of [
    'reveille_sleep_logins_total{result="accepted"} 1',
    'reveille_sleep_logins_total{result="denied"} 1',
    'reveille_sleep_ends_total{reason="write_stuck"} 1',
    'reveille_wakeups_total{outcome="accepted"} 2',
    'reveille_auth_failures_total{reason="signature_mismatch"} 1',
  ])
    assert.ok(text.includes(`${sample}\n`), sample);
});

test('open sessions are read at the scrape', async () => {
  assert.deepEqual(await samplesOf(metricsOf({ sleepSessions: () => 7 }), 'reveille_sleep_sessions'), [
    'reveille_sleep_sessions 7',
  ]);
});

test('metrics of the process and its event loop are exposed, without those that walk all sockets', async () => {
  const text = await metricsOf().expose();
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_p99_seconds',
  ])
    assert.match(text, new RegExp(`^${name} `, 'm'));
  assert.match(text, /^process_open_fds [1-9]/m);
  assert.doesNotMatch(text, /nodejs_active_/);
});

test('every line of the text is a comment or a sample, and every metric is named once', async () => {
  const metrics = metricsOf();
  metrics.httpRequest('wakeup', 202, 0, 0.001);
  const lines = (await metrics.expose()).split('\n').filter((line) => line !== '');
  // The mean lag of an event loop that was not sampled yet is no number.
  const sample = /^[a-z0-9_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? (?:-?[\d.e+-]+|Nan)$/;
  for (const line of lines)
    assert.match(line, line.startsWith('#') ? /^# (?:HELP|TYPE) [a-z0-9_]+ / : sample);
  const types = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2]);
  assert.equal(new Set(types).size, types.length);
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});

test('the time from a wakeup to the login is a histogram whose buckets reach a minute', async () => {
  const metrics = metricsOf();
  metrics.wakeupToOnline(0.8);
  metrics.wakeupToOnline(59);
  const samples = await samplesOf(metrics, 'reveille_wakeup_to_online_seconds');
  assert.ok(samples.includes('reveille_wakeup_to_online_seconds_bucket{le="1"} 1'));
  assert.ok(samples.includes('reveille_wakeup_to_online_seconds_bucket{le="45"} 1'));
  assert.ok(samples.includes('reveille_wakeup_to_online_seconds_bucket{le="60"} 2'));
  assert.ok(samples.includes('reveille_wakeup_to_online_seconds_count 2'));
});

const server: ServerFigures = {
  storeBytes: async () => ({ registry: 4096, state: 8192 }),
  storeMapBytes: () => ({ registry: 65_536, state: 65_536 }),
  disk: async () => ({ freeBytes: 3e9, bytes: 4e9 }),
  registryEntries: () => ({ device: 1_000_000, webhook: 0 }),
  webhooks: async () => ({
    hooks: { on: 2, 'open-circuit': 1, off: 0 },
    backlog: { behind: 7, failed: 3, parked: 1 },
    oldestS: 61.5,
  }),
  certificateExpiriesS: () => ({ api: 1_800_000_000 }),
};

test('figures that a server has once have a value in one process only', async () => {
  const text = await metricsOf({ server: () => server }).expose();
  for (const sample of [
    `reveille_build_info{version="${readVersion()}",node="${process.versions.node}"} 1`,
    'reveille_store_bytes{file="state"} 8192',
    'reveille_store_map_bytes{file="registry"} 65536',
    'reveille_disk_free_bytes 3000000000',
    'reveille_disk_bytes 4000000000',
    'reveille_registry_entries{kind="device"} 1000000',
    'reveille_certificate_expiry_timestamp_seconds{listener="api"} 1800000000',
    'reveille_webhooks{state="open-circuit"} 1',
    'reveille_webhook_backlog_events{state="behind"} 7',
    'reveille_webhook_oldest_event_seconds 61.5',
  ])
    assert.ok(text.includes(`${sample}\n`), sample);
  const other = await metricsOf().expose();
  assert.doesNotMatch(
    other,
    /^reveille_(?:build|store|disk|registry|certificate|webhook(?:s|_backlog|_oldest))/m,
  );
});

test('an unreadable figure has no value, and does not affect others', async () => {
  const broken: ServerFigures = {
    ...server,
    storeMapBytes: () => assert.fail('closed'),
    disk: () => Promise.reject(new Error('stale')),
    webhooks: async () => null,
  };
  const text = await metricsOf({ server: () => broken }).expose();
  assert.match(text, /^reveille_store_bytes\{file="registry"\} 4096$/m);
  assert.doesNotMatch(text, /^reveille_(?:store_map|disk|webhook(?:s|_backlog|_oldest))/m);
});

test('front metrics have values if the API has fronts', async () => {
  assert.deepEqual(
    (await samplesOf(metricsOf(), 'reveille_front_')).filter(
      (line) => !line.includes('_credentials_seconds'),
    ),
    [],
  );
  const front = { state: 'up', connections: 3, waitingCalls: 2, openCalls: 1, utilization: 0.25 } as const;
  const metrics = metricsOf({
    fronts: () => ({
      fronts: [
        { ...front, name: 'front-0', restarts: 0, sinceMs: 0 },
        { ...front, name: 'front-1', state: 'stuck', restarts: 1, sinceMs: 0 },
      ],
      replacements: { ended: 1, stuck: 2, credentials: 3 },
      refusedCalls: 4,
    }),
  });
  assert.deepEqual(await samplesOf(metrics, 'reveille_front_up'), [
    'reveille_front_up{front="front-0"} 1',
    'reveille_front_up{front="front-1"} 0',
  ]);
  for (const sample of [
    'reveille_front_connections{front="front-0"} 3',
    'reveille_front_utilization{front="front-0"} 0.25',
    'reveille_front_waiting_calls{front="front-0"} 2',
    'reveille_front_open_calls{front="front-0"} 1',
    'reveille_front_replacements{reason="ended"} 1',
    'reveille_front_replacements{reason="stuck"} 2',
    'reveille_front_replacements{reason="credentials"} 3',
    'reveille_front_refused_calls 4',
  ])
    assert.deepEqual(await samplesOf(metrics, sample), [sample]);
});
