/** Maps the error that ended a command to lines on standard error and an exit code. Source: running.md, Command line. */
import { CommanderError } from 'commander';
import { ReveilleProtocolError, ReveilleUnreachableError } from '../../client/reveille-client.ts';
import { MissingBinaryError } from '../../lib/connections/uws-binary.ts';
import { SettingsError } from '../../server/config/settings.ts';
import { AuditRefusal } from '../../storage/audit/audit-log.ts';
import { causeOf } from '../../storage/lmdb/store-fault.ts';
import { StoreOpenError } from '../../storage/lmdb/store-format.ts';
import { CommandError } from './command-error.ts';
import { explainConnectionFailure } from './connection-failure.ts';

export interface FailureReport {
  readonly exitCode: 0 | 1 | 2;
  /** Lines for standard error; empty if the error was already reported. */
  readonly lines: readonly string[];
}

export function describeFailure(error: unknown, wantsJson: boolean): FailureReport {
  const { exitCode, lines } = describe(error);
  if (!wantsJson || lines.length === 0) return { exitCode, lines };
  const [message = '', ...advice] = lines;
  const json = { error: message, ...(advice.length > 0 && { advice: advice.map((line) => line.trim()) }) };
  return { exitCode, lines: [JSON.stringify(json)] };
}

function describe(error: unknown): FailureReport {
  if (error instanceof CommanderError) return describeUsage(error);
  if (error instanceof SettingsError) return { exitCode: 2, lines: error.problems };
  if (error instanceof CommandError)
    return {
      exitCode: error.exitCode,
      lines: [error.message, ...(error.advice === null ? [] : [`  ${error.advice}`])],
    };
  if (error instanceof ReveilleUnreachableError) {
    const elsewhere = 'start the server, or name another with --url http://host:port';
    const { reason, advice } = explainConnectionFailure(error.cause, elsewhere);
    return { exitCode: 1, lines: [`no answer from ${error.origin}: ${reason}`, `  ${advice}`] };
  }
  if (error instanceof ReveilleProtocolError) return { exitCode: 1, lines: [error.message] };
  if (isSentence(error)) return { exitCode: 1, lines: [error.message] };
  if (isNativeFailure(error)) return { exitCode: 1, lines: describeNativeFailure(error) };
  const cause = causeOf(error);
  if (cause !== null) return { exitCode: 1, lines: [cause] };
  return { exitCode: 1, lines: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
}

const helpAdvice = 'add --help to the command for its options';

/** Commander's further lines suggest similar words; its help has been printed already. */
function describeUsage({ exitCode, code, message }: CommanderError): FailureReport {
  if (exitCode === 0) return { exitCode: 0, lines: [] };
  if (code === 'commander.help') return { exitCode: 2, lines: ['a command is missing', `  ${helpAdvice}`] };
  const [sentence = '', ...more] = message.replace(/^error: /, '').split('\n');
  const advice = [...more, helpAdvice];
  return { exitCode: 2, lines: [sentence, ...advice.map((line) => `  ${line}`)] };
}

const sentences = [StoreOpenError, AuditRefusal, MissingBinaryError];

function isSentence(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || sentences.some((type) => error instanceof type);
}

const noBinary = 'No native build was found';

/** A package's native binary, above all `lmdb`'s, is missing or does not load. */
function isNativeFailure(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error)) return false;
  return error.message.startsWith(noBinary) || ('code' in error && error.code === 'ERR_DLOPEN_FAILED');
}

function describeNativeFailure({ message }: Error): string[] {
  const machine = `Node ${process.versions.node} on ${process.platform}/${process.arch}`;
  const [first = ''] = message.split('\n');
  const fault = message.startsWith(noBinary)
    ? `the store's library lmdb is installed without its binary for ${machine}`
    : `a native library does not load in ${machine}: ${first}`;
  return [fault, '  npm ci mends it; not with --omit=optional: to leave out FFmpeg, npm run without-ffmpeg'];
}
