/** Metrics and documents agree: every declared metric is described, and every metric in a document is declared. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketNames } from '../../../src/cluster/nats/nats-names.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { readFromRoot } from '../../support/checkout.ts';
import { documentPages } from '../../support/document-blocks.ts';
import { metricSources } from '../../support/metric-sources.ts';
import { declaredMetrics, metricsDocument, writeMetricsDocument } from '../../support/metrics-document.ts';

const declared = declaredMetrics().map(({ name }) => name);

/** In NATS they begin alike. */
const natsNames = new Set(['events', ...bucketNames].map((name) => `reveille_${name}`));

test('the page of the metrics matches their declarations', async () => {
  assert.equal(
    readFromRoot(metricsDocument),
    await writeMetricsDocument(),
    'run node --import tsx test/support/metrics-document.ts',
  );
});

test('every metric that is exposed is declared, and none twice', async () => {
  const text = await createMetrics(metricSources()).expose();
  const exposed = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name = '']) => name);
  const own = exposed.filter((name) => name.startsWith('reveille_'));
  assert.ok(own.length > 40, 'hardly a metric is exposed');
  assert.deepEqual(
    own.filter((name) => !declared.includes(name)),
    [],
  );
  assert.equal(new Set(declared).size, declared.length);
});

test('every metric that a document names is declared', () => {
  const named = documentPages().flatMap((document) =>
    Array.from(readFromRoot(document).matchAll(/\breveille_[a-z_]+\b/g), ([name]) => ({
      document,
      name: name.replace(/_(?:bucket|sum|count)$/, ''),
    })),
  );
  assert.ok(named.length > declared.length, 'hardly a metric is named');
  assert.deepEqual(
    named.filter(({ name }) => !declared.includes(name) && !natsNames.has(name)),
    [],
  );
});
