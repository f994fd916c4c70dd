/** `--output` of the commands that make a secret: their answer goes into a new file that only its owner can read. */
import { rmSync, writeFileSync } from 'node:fs';
import { Option } from 'commander';
import { messageOf } from '../../lib/result.ts';
import type { CommandContext } from './command-context.ts';
import { CommandError } from './command-error.ts';

export interface SecretOptions {
  /** Path. */
  readonly output?: string;
}

export function outputOption(): Option {
  return new Option('--output <file>', 'a new file, for its owner only, for the secret, in JSON');
}

/**
 * Answers what `request` resolves to. The file is made before, so that a secret which the server has made never lacks a place:
 * should the file not take it, it is shown. Throws a CommandError when the file cannot be made.
 */
export async function answerSecret(
  { output }: Pick<CommandContext, 'output'>,
  { output: file }: SecretOptions,
  request: () => Promise<readonly [json: object, text: string]>,
): Promise<void> {
  if (file === undefined) return output.answer(...(await request()));
  writeNewFile(file);
  const [json, text] = await request().catch((error: unknown) => {
    rmSync(file, { force: true });
    throw error;
  });
  try {
    writeFileSync(file, `${JSON.stringify(json)}\n`);
    output.answer({ file }, `the secret is in ${file}, which only its owner can read`);
  } catch (error) {
    output.warning(`${file} cannot be written, so the secret is shown: ${messageOf(error)}`);
    output.answer(json, text);
  }
}

/** Mode 0600. Throws a CommandError, also when another process was faster. */
export function writeNewFile(path: string, text = ''): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // A full disk leaves an empty file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(path, { force: true });
    throw new CommandError(
      `${path} cannot be written: ${messageOf(error)}`,
      'nothing was made; name another path, in a folder that is there and may be written',
    );
  }
}
