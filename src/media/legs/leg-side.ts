/** An open leg, and what the texts of its side of the call mean to the house. */
import { parseBridgeText } from '../../protocol/media/bridge-text.ts';
import { parseDeviceText } from '../../protocol/media/device-text.ts';
import type { OpenBridgeLeg, OpenDeviceLeg } from '../../core/ports/leg-service.ts';

export interface LegSide {
  readonly leg: Pick<OpenDeviceLeg, 'alive' | 'gone'>;
  /** Passes on what the text says. What is wrong with it, in a sentence; null: nothing. */
  hear(text: Uint8Array): string | null;
}

export function deviceSide(leg: OpenDeviceLeg): LegSide {
  return {
    leg,
    hear: (text) => {
      const heard = parseDeviceText(text);
      if (!heard.ok) return heard.error;
      leg.report(heard.value);
      return null;
    },
  };
}

export function bridgeSide(leg: OpenBridgeLeg): LegSide {
  return {
    leg,
    hear: (text) => {
      const heard = parseBridgeText(text);
      if (!heard.ok) return heard.error;
      if (heard.value.kind === 'answer') leg.answerAssignment(heard.value.accepted);
      else leg.report(heard.value.report, heard.value.about);
      return null;
    },
  };
}
