<?php

declare(strict_types=1);

namespace Relata;

use DeflateContext;

/** Writes one JSON list and packs it as it grows, so only the packed bytes are in memory. */
final class BatchWriter
{
    private readonly ?DeflateContext $packing;
    private string $bytes = '';
    private int $length = 0;
    private int $count = 0;

    public function __construct(string $begin)
    {
        // Level 1 takes half the time of the default for a few more bytes.
        $packing = function_exists('deflate_init') ? deflate_init(ZLIB_ENCODING_GZIP, ['level' => 1]) : false;
        $this->packing = $packing === false ? null : $packing;
        $this->write($begin);
    }

    public function fits(int $bytes, int $mostItems, int $mostBytes): bool
    {
        return $this->count < $mostItems && $this->length + $bytes < $mostBytes;
    }

    public function add(string $json): void
    {
        $this->write($this->count === 0 ? $json : ",$json");
        $this->count += 1;
    }

    public function end(string $end): string
    {
        $this->write($end);
        if ($this->packing !== null) {
            $this->bytes .= deflate_add($this->packing, '', ZLIB_FINISH);
        }

        return $this->bytes;
    }

    public function isPacked(): bool
    {
        return $this->packing !== null;
    }

    public function count(): int
    {
        return $this->count;
    }

    private function write(string $text): void
    {
        $this->length += strlen($text);
        $this->bytes .= $this->packing === null ? $text : deflate_add($this->packing, $text, ZLIB_NO_FLUSH);
    }
}
