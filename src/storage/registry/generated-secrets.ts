/** Secrets and key ids that are made here. Random bytes of the system, in characters that need no quoting anywhere. */
import { randomBytes } from 'node:crypto';
import type { AccessKeyId } from '../../model/ids.ts';
import { hashBridgeKey } from '../../model/registry.ts';

const secretBytes = 32;
const accessKeyIdBytes = 10;

/** 43 characters of base64url: 256 bits. */
export function generateSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** `AK` and 20 characters: 80 bits, so that no two are ever the same. */
export function generateAccessKeyId(): AccessKeyId {
  return `AK${randomBytes(accessKeyIdBytes).toString('hex').toUpperCase()}` as AccessKeyId;
}

/** What a bridge shows, to be told once, and what is kept of it. */
export function generateBridgeKey(): { readonly key: string; readonly keySha256: string } {
  const key = generateSecret();
  return { key, keySha256: hashBridgeKey(key) };
}
