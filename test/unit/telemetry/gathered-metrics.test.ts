import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatheredMetrics, type MetricSource } from '../../../src/telemetry/gathered-metrics.ts';

function textOf(logins: number, sessions: number, bytes: number): string {
  return [
    '# HELP reveille_logins_total Logins.',
    '# TYPE reveille_logins_total counter',
    `reveille_logins_total{result="accepted"} ${logins}`,
    '# HELP reveille_sessions Sessions.',
    '# TYPE reveille_sessions gauge',
    `reveille_sessions ${sessions}`,
    '# HELP process_bytes Memory.',
    '# TYPE process_bytes gauge',
    `process_bytes ${bytes}`,
    '',
  ].join('\n');
}

class Scene {
  sources: MetricSource[] = [];
  readonly metrics = new GatheredMetrics({
    own: { contentType: 'text/plain', expose: () => Promise.resolve(textOf(1, 0, 100)) },
    process: 0,
    others: () => this.sources,
    processes: () => [
      { process: 0, isUp: true, restarts: 0 },
      { process: 1, isUp: false, restarts: 2 },
    ],
  });

  answers(process: number, text: string | null, member = `member ${process}`): MetricSource {
    return { member, process, read: () => Promise.resolve(text) };
  }

  async samples(): Promise<string[]> {
    return (await this.metrics.expose()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  }
}

test('what the server counts is one number, what is of a process stands once for each', async () => {
  const scene = new Scene();
  scene.sources = [scene.answers(1, textOf(5, 3, 200)), scene.answers(2, textOf(7, 4, 300))];
  assert.deepEqual(await scene.samples(), [
    'reveille_logins_total{result="accepted"} 13',
    'reveille_sessions 7',
    'process_bytes{process="0"} 100',
    'process_bytes{process="1"} 200',
    'process_bytes{process="2"} 300',
    'reveille_process_up{process="0"} 1',
    'reveille_process_up{process="1"} 0',
    'reveille_process_restarts_total{process="0"} 0',
    'reveille_process_restarts_total{process="1"} 2',
  ]);
});

test('what a process had counted stays in the sum when it dies; what it held does not', async () => {
  const scene = new Scene();
  scene.sources = [scene.answers(1, textOf(5, 3, 200))];
  await scene.samples();
  scene.sources = [scene.answers(1, textOf(2, 1, 250), 'its next life')];
  assert.deepEqual((await scene.samples()).slice(0, 3), [
    'reveille_logins_total{result="accepted"} 8',
    'reveille_sessions 1',
    'process_bytes{process="0"} 100',
  ]);
});

test('of a process that does not answer the last answer counts', async () => {
  const scene = new Scene();
  scene.sources = [scene.answers(1, textOf(5, 3, 200))];
  await scene.samples();
  scene.sources = [scene.answers(1, null)];
  assert.equal((await scene.samples())[0], 'reveille_logins_total{result="accepted"} 6');
});

test('a family of the others alone is there, with the lines that begin it', async () => {
  const scene = new Scene();
  scene.sources = [
    scene.answers(1, '# HELP reveille_more More.\n# TYPE reveille_more counter\nreveille_more 2\n'),
  ];
  assert.match(
    await scene.metrics.expose(),
    /# HELP reveille_more More\.\n# TYPE reveille_more counter\nreveille_more 2\n/,
  );
});
