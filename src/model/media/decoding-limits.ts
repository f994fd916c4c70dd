/**
 * Limits of the work that one frame may cost its decoder. A frame beyond them is dropped as undecodable, before a decoder
 * gets it. Source: calls-and-media.md, The media process.
 */

/** NAL units of an access unit; 1 MiB in slices of 1200 bytes has 874. */
export const accessUnitPartsMax = 1024;
/** Parameter sets of an access unit: a decoder makes tables of the picture's size for each. */
export const parameterSetsMax = 32;
/**
 * A slice may cost all blocks from its first one to the end of the picture. All slices of an access unit may cost so many
 * times the picture, as 80 slices of equal size do, and so many blocks of 16 x 16 more for each byte: slices of 1200 bytes
 * are always few enough.
 */
export const sliceAreasMax = 40;
export const sliceBlocksPerByte = 3;
/** Blocks of 16 x 16 in the pictures that a decoder keeps for reference: as many as level 5.1 of H.265 allows, 80 MB. */
export const referenceBlocksMax = 208_896;

/** Scans of a JPEG: each may pass over the whole picture. Encoders make 15 at most. */
export const jpegScansMax = 32;
/** Frame headers, those of thumbnails and bytes that look like one included: each clears the memory of a picture. */
export const jpegFrameHeadersMax = 8;
/** Bytes of Huffman tables, by the lengths of their segments: encoders make 200 bytes a scan at most. */
export const jpegTableBytesMax = 16 * 1024;
