/** Reads of the registry on the request path: synchronous, microseconds, from memory or a memory map. */
import type { AccessKeyId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Bridge, Credential, Device, Product } from '../../model/registry.ts';

/** Each read throws when the store cannot be read; callers answer 50000 or 50301, never "unknown". */
export interface RegistryReader {
  findCredential(accessKeyId: AccessKeyId): Credential | null;
  findProduct(productId: ProductId): Product | null;
  findDevice(deviceId: DeviceId): Device | null;
  /** Like `findDevice`, without caching the device: for one-off reads such as logins. */
  peekDevice(deviceId: DeviceId): Device | null;
  /** Bridges whose bearer key has this SHA-256, 64 lowercase hex digits, revoked ones too. */
  findBridges(keySha256: string): readonly Bridge[];
}
