/** The methods of the client that list and change devices in the registry. Source: docs/provisioning.md. */
import type { DeviceAdditionCode, DeviceChangeCode, DeviceListingCode, FailureCode } from '../model/codes.ts';
import type {
  AddedDevicesData,
  ApiResult,
  ChangedDeviceData,
  DeviceChange,
  DevicePageData,
  NewDevice,
  RegisteredDevice,
  RemovedDeviceData,
} from './answers.ts';
import { ReveilleRefusedError } from './client-errors.ts';
import type { CallOptions, DevicesOptions } from './client-options.ts';
import { queryOf, type ApiRequest } from './request-sender.ts';

/** The request of an endpoint; absent fields have their defaults. */
export type Asked = Pick<ApiRequest, 'kind' | 'method' | 'path'> &
  Partial<Pick<ApiRequest, 'rawQuery' | 'body' | 'requestId' | 'waitMs'>>;

/** Sends the request. The type of the response is that of the documentation; it is not validated. */
export type Ask = <Data, Code extends FailureCode>(
  asked: Asked,
  options: CallOptions,
) => Promise<ApiResult<Data, Code>>;

const devicesPath = '/v1/devices';

export class RegistryMethods {
  readonly #request: Ask;

  constructor(request: Ask) {
    this.#request = request;
  }

  /** Adds up to 500 devices, each with its own code. An entry that exists already changes nothing. */
  async addDevices(
    devices: readonly NewDevice[],
    options: CallOptions = {},
  ): Promise<ApiResult<AddedDevicesData, DeviceAdditionCode>> {
    // Generated secrets are lost with their response.
    const kind = devices.every(({ secret }) => secret !== undefined) ? 'provisioning' : 'made-secret';
    return this.#request({ kind, path: devicesPath, body: { devices } }, options);
  }

  /** Returns a page of the application's devices; it may be shorter than `limit` although more follow. */
  async listDevices(options: DevicesOptions = {}): Promise<ApiResult<DevicePageData, DeviceListingCode>> {
    const { productId, prefix, online, after, limit } = options;
    const rawQuery = queryOf({ product_id: productId, prefix, online: online?.toString(), after, limit });
    return this.#request({ kind: 'query', path: devicesPath, rawQuery }, options);
  }

  /** Iterates over all devices, page by page. Throws a ReveilleRefusedError when the server refuses a page. */
  async *devices(options: DevicesOptions = {}): AsyncGenerator<RegisteredDevice, void, undefined> {
    let { after } = options;
    for (;;) {
      const page = await this.listDevices({ ...options, after });
      if (!page.ok) throw new ReveilleRefusedError(page.code, page.message, page.requestId);
      yield* page.data.devices;
      if (page.data.next === null) return;
      after = page.data.next;
    }
  }

  /** Changes what is said of a device; with `secret: true` the answer has a new one. */
  async changeDevice(
    change: DeviceChange,
    options: CallOptions = {},
  ): Promise<ApiResult<ChangedDeviceData, DeviceChangeCode>> {
    const kind = change.secret === true ? 'made-secret' : 'provisioning';
    return this.#request({ kind, method: 'PATCH', path: devicesPath, body: change }, options);
  }

  /** Removes a device; one that is not there is 40403. */
  async removeDevice(
    deviceId: string,
    options: CallOptions = {},
  ): Promise<ApiResult<RemovedDeviceData, DeviceChangeCode>> {
    const rawQuery = queryOf({ device_id: deviceId });
    return this.#request({ kind: 'provisioning', method: 'DELETE', path: devicesPath, rawQuery }, options);
  }
}
