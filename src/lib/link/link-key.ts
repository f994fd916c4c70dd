/** Links by the key that both ends have in a file. */
import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import { cannotListen, type ListenAddress } from '../connections/listen-address.ts';
import { linkKeyBytesMin, listenPsk, type PskKind, type PskListener } from './psk-transport.ts';

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

export interface LinkPort {
  readonly address: ListenAddress;
  readonly keyFile: string;
}

/** As `listenPsk`. `settings`: the names of those that say where. Rejects with a sentence for the operator. */
export async function listenForLinks(
  { address, keyFile }: LinkPort,
  settings: { readonly listen: string; readonly key: string },
  kind: PskKind,
  clock: Clock,
  onLink: (stream: Duplex) => void,
  onRefused: (sentence: string) => void,
): Promise<PskListener> {
  const key = await readLinkKey(keyFile, settings.key);
  return listenPsk({ ...address, key }, kind, clock, onLink, onRefused).catch((cause: unknown) => {
    throw cannotListen(address, cause, settings.listen);
  });
}
