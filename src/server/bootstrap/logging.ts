/**
 * The log: one JSON object a line, or a readable line on a terminal, written behind to standard output, so that a slow
 * reader holds up nobody. What could be a secret is redacted by name, at the top and one level down; a request is named by
 * `request_id`.
 * Source: running.md, Probes, metrics, logs.
 */
import { isatty } from 'node:tty';
import { destination, pino, type DestinationStream, type Logger } from 'pino';
import type { Log } from '../../lib/log.ts';
import type { Settings } from '../config/settings-schema.ts';
import { formatLogLine } from './log-text.ts';

export type LogSettings = Pick<Settings['log'], 'level' | 'format'>;

export type Logging = Readonly<ReturnType<typeof openLog>>;

/** Bytes that wait for a slow reader; beyond it lines are lost, not memory. */
const logBytesWaitingMax = 16 * 1024 * 1024;

/** What a pipe takes whole, so that lines of several processes that share one stay lines. */
const sharedWriteBytesMax = 4096;

const standardOutput = 1;

const secretNames = [
  'authorization',
  'bridge_keys',
  'key',
  'mac',
  'msg_session_key',
  'msg_session_token',
  'secret',
  'secret_key',
  'secretKey',
  'session_key',
  'session_token',
  'sessionKey',
  'sessionToken',
  'signature',
  'ticket',
  'token',
];

/**
 * `descriptor` is an open file; unless it is a standard one it is closed with the log. `isShared`: other processes write there, too.
 */
export function openLog(
  { level, format }: LogSettings,
  descriptor: number = standardOutput,
  isShared = false,
) {
  const output = destination({
    dest: descriptor,
    sync: false,
    maxLength: logBytesWaitingMax,
    ...(isShared && { maxWrite: sharedWriteBytesMax }),
  });
  // A reader that is gone, of a pipe or of a terminal, takes the log with it, not the server.
  let isReaderGone = false;
  const isTerminal = isatty(descriptor);
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    const isTerminalGone = isTerminal && code === 'EIO';
    isReaderGone ||= isTerminalGone || code === 'EPIPE';
    // Pino does the same for a pipe; for a terminal it would try again for ever.
    if (isTerminalGone) Object.assign(output, { write: () => true, flushSync: () => undefined });
  });
  const logger = pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      redact: secretNames.flatMap((name) => [name, `*.${name}`]),
    },
    formatted(output, format, isTerminal),
  );
  const always = logger.child({}, { level: 'info' });
  return {
    log: bound(logger),
    /** Written whatever the level: what whoever started the process waits for. */
    announce: (fields: object, message: string): void => always.info(fields, message),
    /** From now on errors only, or all of `level` again. */
    hush: (isHushed: boolean): void => {
      if (logger.isLevelEnabled('error')) logger.level = isHushed ? 'error' : level;
    },
    /** For a process that is about to end: blocks until all is written but a write under way, which the exit awaits. */
    flushNow: (): void => output.flushSync(),
    /** Resolves when everything is written. Nothing may be logged after it. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        if (isReaderGone) return resolve();
        output.once('close', resolve);
        output.once('error', () => resolve());
        output.end();
      }),
  };
}

/** People watch a terminal; everything else is read by programs, unless it is asked for otherwise. */
function formatted(
  output: DestinationStream,
  format: LogSettings['format'],
  isTerminal: boolean,
): DestinationStream {
  if (format === 'json' || (format === 'auto' && !isTerminal)) return output;
  const options = { hasColor: isTerminal && !process.env['NO_COLOR'], hasDate: !isTerminal };
  return { write: (line) => output.write(formatLogLine(line, options)) };
}

/** Pino's methods need their logger; a port's methods stand alone. */
function bound(logger: Logger): Log {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
