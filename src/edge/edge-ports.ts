/** The port that edges on other machines connect to: TLS by a shared key. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { readLinkKey } from '../lib/link/link-key.ts';
import { listenPsk, type PskListener } from '../lib/link/psk-transport.ts';
import { cannotListen, type ListenAddress } from '../lib/connections/listen-address.ts';
import { edgePsk } from './edge-language.ts';

export interface ElsewhereSettings {
  readonly address: ListenAddress;
  readonly keyFile: string;
}

/** `refused`: somebody came who has not shown the key. Rejects with a sentence for the operator. */
export async function listenElsewhere(
  { address, keyFile }: ElsewhereSettings,
  clock: Clock,
  accept: (stream: Duplex) => void,
  refused: (sentence: string) => void,
): Promise<PskListener> {
  const key = await readLinkKey(keyFile, 'edges.key_file');
  try {
    return await listenPsk({ ...address, key }, edgePsk, clock, accept, refused);
  } catch (cause) {
    throw cannotListen(address, cause, 'edges.listen');
  }
}
