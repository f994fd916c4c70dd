/** By what people reach the media listener, in links: as it is set, else where it listens. */
import type { Settings } from '../config/settings-schema.ts';
import { formatListenAddress, reachableHere, type ListenAddress } from '../config/settings-values.ts';

/** An origin such as `https://media.example:8083`, without a slash at its end. `address`: with its real port. */
export function mediaOrigin({ media }: Pick<Settings, 'media'>, address: ListenAddress): string {
  if (media.advertise !== null) return media.advertise.replace(/\/+$/, '');
  const scheme = media.tls_cert_file === null ? 'http' : 'https';
  return `${scheme}://${formatListenAddress(reachableHere(address))}`;
}
