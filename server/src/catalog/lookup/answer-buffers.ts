/** Sizes are powers of two from here on; smaller answers are cheap anyway. */
const SMALLEST_BYTES = 16 * 1024;
const LARGEST_BYTES = 4 * 1024 * 1024;
/** Retained for each size: concurrent answers on a busy server. */
const IDLE = 16;

/**
 * Buffers for answers, reused once their answer is sent: a fresh buffer of 130 KB is memory that the kernel
 * must first clear page by page, which took longer than filling it.
 */
export function createAnswerBuffers() {
  const free = new Map<number, Buffer[]>();
  return {
    /** @returns a buffer of at least the given size; `release` gives it back */
    take(bytes: number): { buffer: Buffer; release: () => void } {
      if (bytes < SMALLEST_BYTES || bytes > LARGEST_BYTES)
        return { buffer: Buffer.allocUnsafe(bytes), release() {} };
      const size = 2 ** Math.ceil(Math.log2(bytes));
      const idle = free.getOrInsert(size, []);
      const buffer = idle.pop() ?? Buffer.allocUnsafeSlow(size);
      let isHeld = true;
      return {
        buffer,
        release() {
          if (isHeld && idle.length < IDLE) idle.push(buffer);
          isHeld = false;
        },
      };
    },
  };
}
