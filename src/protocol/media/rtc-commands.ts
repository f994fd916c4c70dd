/** Commands of the data channel `commands`, by the numbers that the messaging app's devices know. Source: calls-and-media.md, Legs. */
export const rtcCommands = {
  /** To the device: media flows. */
  connected: 0x2000,
  /** From it, and to it: the call is over. */
  hangup: 0x2001,
} as const;

/** From a viewer, to whom sound is sent only while it wants some. */
export const viewerCommands = { hear: 0x3000, mute: 0x3001 } as const;
