/** Checksums of a release's files, as `sha256sum` writes them, and their signature with an Ed25519 key. */
import { createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const sumsName = 'SHA256SUMS';
export const signatureName = 'SHA256SUMS.sig';

/** Throws, with what to do, when the file is not an Ed25519 key, or others can read it. */
export function readSigningKey(file: string): KeyObject {
  const readByOthers = 0o077;
  if (process.platform !== 'win32' && (statSync(file).mode & readByOthers) !== 0)
    throw new Error(`${file} can be read by others: chmod 600 ${file}`);
  let key: KeyObject;
  try {
    key = createPrivateKey(readFileSync(file));
  } catch {
    throw new Error(`${file} is no private key in PEM, or has a passphrase: ${howToMake}`);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`${file} is a key of another kind (${key.asymmetricKeyType}): ${howToMake}`);
}

const howToMake = 'make one with openssl genpkey -algorithm ed25519 -out FILE';

/** Writes the checksums of all files of the folder into it, sorted by name, and returns their text. */
export function writeSums(folder: string): string {
  const names = readdirSync(folder).sort();
  if (names.length === 0) throw new Error(`${folder} has nothing to sum`);
  const lines = names.map((name) => `${sha256(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, sumsName), lines.join(''), { flag: 'wx' });
  return lines.join('');
}

/** Writes the signature of the checksums: 64 bytes, as `openssl pkeyutl -verify -rawin` reads them. */
export function signSums(folder: string, key: KeyObject): void {
  const sums = readFileSync(join(folder, sumsName));
  writeFileSync(join(folder, signatureName), sign(null, sums, key), { flag: 'wx' });
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
