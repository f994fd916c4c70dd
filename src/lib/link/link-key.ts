/** Links secured by a key that both ends read from a file. */
import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import { cannotListen, type ListenAddress } from '../connections/listen-address.ts';
import { linkKeyBytesMin, listenPsk, type PskKind, type PskListener } from './psk-transport.ts';

/** `setting`: the name of the setting with the file's path. Rejects with a sentence for the operator when the key is missing or short. */
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

/** Like `listenPsk`. `settings`: the names of the address's and the key's settings. Rejects with a sentence for the operator. */
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
