<?php

declare(strict_types=1);

namespace Relata;

use Generator;
use JsonException;

/** The body of a request: JSON, packed if that saves bytes. */
final class Body
{
    /** The maximum of products in a request (docs/interface §8). */
    private const MOST_ITEMS = 10_000;
    /** The JSON size before packing: far below the limit of the service, and little memory for a shop. */
    private const MOST_BYTES = 8_000_000;
    /** Packing a smaller body saves nothing. */
    private const LEAST_PACKED = 1_024;

    private const JSON = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;

    private function __construct(
        public readonly string $bytes,
        public readonly bool $isPacked,
        /** The number of products or identifiers in it. */
        public readonly int $count = 0,
    ) {
    }

    public static function of(mixed $value): self
    {
        $json = self::encode($value, 'The body');
        $isPacked = strlen($json) >= self::LEAST_PACKED && function_exists('gzencode');

        return new self($isPacked ? (string) gzencode($json, 1) : $json, $isPacked);
    }

    /**
     * Bodies of limited number and size, made as the items arrive. One packed body is in memory at a time.
     *
     * @param string $member products or identifiers
     * @param iterable<mixed> $items
     * @return Generator<int, self>
     */
    public static function inBatches(string $member, iterable $items): Generator
    {
        $writer = null;
        foreach ($items as $item) {
            $json = self::encode($item, self::nameOf($item));
            if ($writer !== null && !$writer->fits(strlen($json), self::MOST_ITEMS, self::MOST_BYTES)) {
                yield self::end($writer);
                $writer = null;
            }
            $writer ??= new BatchWriter("{\"$member\":[");
            $writer->add($json);
        }
        if ($writer !== null) {
            yield self::end($writer);
        }
    }

    private static function end(BatchWriter $writer): self
    {
        return new self($writer->end(']}'), $writer->isPacked(), $writer->count());
    }

    private static function nameOf(mixed $item): string
    {
        $identifier = is_array($item) ? $item['identifier'] ?? null : null;

        return is_string($identifier) ? "Product $identifier" : 'A product';
    }

    private static function encode(mixed $value, string $what): string
    {
        try {
            return json_encode($value, self::JSON);
        } catch (JsonException $error) {
            throw RelataException::unusable("$what cannot be written as JSON", $error);
        }
    }
}
