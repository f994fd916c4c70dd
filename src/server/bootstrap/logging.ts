/**
 * The log: one JSON object a line, or readable text on a terminal. It is written asynchronously to standard output, so that a slow
 * reader does not block the server. Fields that may be secrets are redacted by name, at the top level and one below.
 * Source: running.md, Probes, metrics, logs.
 */
import { isatty } from 'node:tty';
import { destination, pino, type DestinationStream, type Logger } from 'pino';
import type { Log } from '../../lib/log.ts';
import type { Settings } from '../config/settings-schema.ts';
import { formatLogLine } from './log-text.ts';

export type LogSettings = Pick<Settings['log'], 'level' | 'format'>;

export type Logging = Readonly<ReturnType<typeof openLog>>;

/** Bytes buffered for a slow reader; beyond that lines are dropped. */
const logBytesWaitingMax = 16 * 1024 * 1024;

/** Size of an atomic write to a pipe, so that lines of several processes do not mix. */
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
 * `descriptor`: an open file, closed with the log unless it is a standard one. `isShared`: other processes write to it too.
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
  // When the pipe or terminal closes, the server continues without a log.
  let isReaderGone = false;
  const isTerminal = isatty(descriptor);
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    const isTerminalGone = isTerminal && code === 'EIO';
    isReaderGone ||= isTerminalGone || code === 'EPIPE';
    // Pino does this for a pipe, but retries a terminal forever.
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
    /** Written at every log level: lines that the starter of the process waits for. */
    announce: (fields: object, message: string): void => always.info(fields, message),
    /** True: logs errors only; false: back to `level`. */
    hush: (isHushed: boolean): void => {
      if (logger.isLevelEnabled('error')) logger.level = isHushed ? 'error' : level;
    },
    /** For a process that is about to exit: blocks until all is written, except for a write in progress, which the exit awaits. */
    flushNow: (): void => output.flushSync(),
    /** Resolves when everything is written. Log nothing after it. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        if (isReaderGone) return resolve();
        output.once('close', resolve);
        output.once('error', () => resolve());
        output.end();
      }),
  };
}

/** Default: text on a terminal, JSON elsewhere. */
function formatted(
  output: DestinationStream,
  format: LogSettings['format'],
  isTerminal: boolean,
): DestinationStream {
  if (format === 'json' || (format === 'auto' && !isTerminal)) return output;
  const options = { hasColor: isTerminal && !process.env['NO_COLOR'], hasDate: !isTerminal };
  return { write: (line) => output.write(formatLogLine(line, options)) };
}

/** Binds the methods: pino's depend on `this`. */
function bound(logger: Logger): Log {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
