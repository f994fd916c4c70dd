/** A device in a call, played in software. Source: calls-and-media.md, Legs. */
import { MediaLeg, type LegAccess } from './media-leg.ts';

export interface DeviceLegAccess extends LegAccess {
  /** As it was issued. */
  readonly token: string;
}

export class DeviceLeg extends MediaLeg {
  /** Rejects with LegRefused when the token is not taken. */
  static connect(access: DeviceLegAccess): Promise<DeviceLeg> {
    return new DeviceLeg(access, '/media/v1/device', access.token).opened();
  }

  accept(): void {
    this.send({ type: 'accept' });
  }

  reject(): void {
    this.send({ type: 'reject' });
  }

  /** `reason`: 0-8, a number of the specification's; 1, somebody hung up, when left out. */
  hangup(reason = 1): void {
    this.send({ type: 'hangup', reason });
  }
}
