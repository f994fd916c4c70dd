/** The file of the key that both ends of a link over a network share. */
import { readFile } from 'node:fs/promises';
import { linkKeyBytesMin } from './psk-transport.ts';

/** `setting`: the name of the setting that says where the file is. Rejects, with a sentence for the operator, when there is no key. */
export async function readLinkKey(file: string, setting: string): Promise<Buffer> {
  const key = await readFile(file).catch((cause: unknown) => {
    throw new Error(`${setting}: ${file} cannot be read`, { cause });
  });
  if (key.length < linkKeyBytesMin)
    throw new Error(
      `${setting}: ${file} has ${key.length} bytes; at least ${linkKeyBytesMin}: openssl rand -out ${file} 32`,
    );
  return key;
}
