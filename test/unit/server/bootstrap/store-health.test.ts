import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreHealth } from '../../../../src/server/bootstrap/store-health.ts';
import { loginsBacklogMax } from '../../../../src/storage/lmdb/store-limits.ts';
import { Readiness } from '../../../../src/telemetry/readiness.ts';
import { FakeLog } from '../../../support/fakes.ts';

function watched() {
  const [log, readiness] = [new FakeLog(), new Readiness()];
  readiness.clear('starting');
  const health = new StoreHealth({ log, readiness });
  let damage: (error: unknown) => void = () => assert.fail('nobody listens for damage');
  health.watch({ path: '/data/state.mdb', onFault: (told) => void (damage = told) });
  return { log, readiness, health, damage: (error: unknown) => damage(error) };
}

const panicked = Object.assign(new Error('MDB_PANIC'), { code: -30_795 });
const damaged = Object.assign(new Error('MDB_CORRUPTED'), { code: -30_796 });

test('a store that refuses writes is unready until it accepts them again', () => {
  const { health, readiness, log } = watched();
  health.count(() => 7);
  health.healthChanged(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
  assert.deepEqual(
    [readiness.reasons, health.figures],
    [['store'], { refuses: true, damagedFiles: 0, waiting: 7 }],
  );
  health.healthChanged(null);
  assert.deepEqual([readiness.isReady, health.refuses], [true, false]);
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['error', 'info'],
  );
});

test('a damaged file is logged once, and stays a reason until the store is restored', () => {
  const { health, readiness, log, damage } = watched();
  damage(damaged);
  damage(damaged);
  assert.deepEqual(
    [readiness.reasons, health.figures.damagedFiles, log.lines.length],
    [['store_damaged'], 1, 1],
  );
  health.healthChanged(damaged);
  health.healthChanged(null);
  assert.deepEqual(readiness.reasons, ['store_damaged']);
});

test('a panic of LMDB is logged once per file, advises a restart instead of a backup, and no stop waits for the store', () => {
  const { health, readiness, log, damage } = watched();
  damage(panicked);
  damage(panicked);
  health.healthChanged(panicked);
  assert.deepEqual(
    [readiness.reasons, health.figures],
    [['store_panic', 'store'], { refuses: true, damagedFiles: 0, waiting: 0 }],
  );
  assert.equal(health.stopWaitMsMax, 0);
  health.healthChanged(null);
  assert.deepEqual([readiness.reasons, health.figures.refuses], [['store_panic'], true]);
  const errors = log.lines.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line));
  assert.equal(errors.length, 2);
  for (const line of errors) assert.match(line, /reveille upgrade/);
});

test('closed logins and the changes lost by a stop are logged with their numbers', () => {
  const { health, log } = watched();
  health.loginsChanged(true);
  health.loginsChanged(false);
  health.count(() => 7);
  health.stopsWithoutStore();
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['error', 'info', 'error'],
  );
  assert.match(JSON.stringify(log.lines[0]), new RegExp(`${loginsBacklogMax}`));
  assert.match(JSON.stringify(log.lines[2]), /stopping: 7 changes are lost: the store refuses writes/);
});
