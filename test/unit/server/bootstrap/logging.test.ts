import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openLog, type Logging, type LogSettings } from '../../../../src/server/bootstrap/logging.ts';
import { moduleBeside } from '../../../../src/lib/module-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'logging-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

/** The lines that `write` writes to a separate log. */
async function linesOf(
  level: LogSettings['level'],
  write: (logging: Logging) => void,
): Promise<Record<string, unknown>[]> {
  const lines = (await textOf({ level, format: 'auto' }, write)).split('\n').slice(0, -1);
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
}

async function textOf(settings: LogSettings, write: (logging: Logging) => void): Promise<string> {
  const path = join(folder, `${files++}.log`);
  const logging = openLog(settings, openSync(path, 'a'));
  write(logging);
  await logging.close();
  return readFileSync(path, 'utf8');
}

/** A terminal without a reader echoes its input, with escapes as ^[. */
async function terminalTextOf(settings: LogSettings, write: (logging: Logging) => void): Promise<string> {
  const terminal = openSync('/dev/ptmx', constants.O_RDWR | constants.O_NOCTTY);
  const logging = openLog(settings, terminal);
  write(logging);
  logging.flushNow();
  const shown = Buffer.alloc(4096);
  const text = shown.toString('utf8', 0, readSync(terminal, shown));
  await logging.close();
  return text;
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

test('lines below the level are not written, but announcements are', async () => {
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

test('a process that flushes and exits at once loses no line', async () => {
  const source = moduleBeside('../../../../src/server/bootstrap/logging', import.meta.url).href;
  const program = `
    import { openLog } from ${JSON.stringify(source)};
    const { log, flushNow } = openLog({ level: 'info', format: 'auto' });
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

const hasNoTerminal = process.platform === 'linux' ? false : 'only Linux shows what nobody reads';

test(
  'a terminal shows readable lines by default, in colour unless NO_COLOR is set',
  { skip: hasNoTerminal },
  async (t) => {
    const settings = { level: 'info', format: 'auto' } as const;
    const write = ({ log }: Logging): void => log.warn({ listener: 'api' }, 'certificate not reloaded');
    const { NO_COLOR: before } = process.env;
    t.after(() => {
      delete process.env['NO_COLOR'];
      if (before !== undefined) process.env['NO_COLOR'] = before;
    });
    process.env['NO_COLOR'] = '1';
    const plain = await terminalTextOf(settings, write);
    assert.match(plain, /^\d\d:\d\d:\d\d\.\d{3} WARN {2}certificate not reloaded {2}listener=api\r\n$/);
    delete process.env['NO_COLOR'];
    const coloured = await terminalTextOf(settings, write);
    assert.match(coloured, /\^\[\[33mWARN \^\[\[39m certificate/);
    assert.equal(coloured.replaceAll(/\^\[\[\d+m/g, '').slice(12), plain.slice(12));
    assert.equal(JSON.parse(await terminalTextOf({ level: 'info', format: 'json' }, write)).level, 'warn');
  },
);

test('text in a file has the date, no colour, and no secrets', async () => {
  const text = await textOf({ level: 'info', format: 'text' }, ({ log }) =>
    log.info({ token: 'hush', device: { id: 'DOOR-1', secret: 'hush' } }, 'made'),
  );
  assert.match(
    text,
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO {2}made {2}token=\[Redacted\] device\.id=DOOR-1 device\.secret=\[Redacted\]\n$/,
  );
});
