import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openLog, type Logging, type LogLevel } from '../../../../src/server/bootstrap/logging.ts';
import { moduleBeside } from '../../../../src/lib/module-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'logging-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

/** The lines that `write` leaves in a log of its own. */
async function linesOf(
  level: LogLevel,
  write: (logging: Logging) => void,
): Promise<Record<string, unknown>[]> {
  const path = join(folder, `${files++}.log`);
  const logging = openLog(level, openSync(path, 'a'));
  write(logging);
  await logging.close();
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
}

test('a line is JSON with its level in words, the time, the fields and the message', async () => {
  const [line] = await linesOf('info', ({ log }) =>
    log.warn({ request_id: 'r-1', bytes: 8 }, 'wake written late'),
  );
  assert.equal(typeof line?.['time'], 'number');
  const { time: _, ...rest } = line ?? {};
  assert.deepEqual(rest, { level: 'warn', request_id: 'r-1', bytes: 8, msg: 'wake written late' });
});

test('secrets are redacted by name, at the top and one level down', async () => {
  const names = [
    'secret',
    'secret_key',
    'token',
    'signature',
    'authorization',
    'mac',
    'bridge_keys',
    'session_key',
  ];
  const secrets = Object.fromEntries(names.map((name) => [name, 'hush']));
  const [line] = await linesOf('info', ({ log }) => {
    log.info(
      { ...secrets, device: secrets, err: Object.assign(new Error('broken'), { token: 'hush' }) },
      'x',
    );
  });
  assert.doesNotMatch(JSON.stringify(line), /hush/);
  assert.match(JSON.stringify(line), /"message":"broken"/);
});

test('lines below the level are not written, an announcement always is', async () => {
  const lines = await linesOf('error', ({ log, announce }) => {
    log.debug({}, 'no');
    log.info({}, 'no');
    log.warn({}, 'no');
    log.error({}, 'yes');
    announce({ listeners: { api: '127.0.0.1:8080' } }, 'ready');
  });
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['yes', 'ready'],
  );
  assert.equal(lines[1]?.['level'], 'info');
});

test('closing writes everything that was logged before it', async () => {
  const lines = await linesOf('info', ({ log }) => {
    for (let number = 0; number < 5000; number++) log.info({ number }, 'one of many');
  });
  assert.equal(lines.length, 5000);
});

test('a process that flushes and exits at once leaves nothing behind', async () => {
  const source = moduleBeside('../../../../src/server/bootstrap/logging', import.meta.url).href;
  const program = `
    import { openLog } from ${JSON.stringify(source)};
    const { log, flushNow } = openLog('info');
    for (let number = 0; number < 100; number++) log.info({ number }, 'one of many');
    flushNow();
    process.exit(3);
  `;
  const tsx = source.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const args = [...tsx, '--input-type=module', '--eval', program];
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, (_, stdout) => resolve(stdout));
  });
  assert.equal(printed.split('\n').length, 101, printed);
});
