//! Positions on the earth.

use std::f64::consts::PI;

/// Position in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    /// Degrees north, −90 to 90.
    pub latitude: f64,
    /// Degrees east, −180 to 180.
    pub longitude: f64,
}

impl Coordinates {
    /// Returns the great-circle distance in kilometres, by the haversine formula on a sphere.
    #[must_use]
    pub fn distance_km(self, other: Self) -> f64 {
        let [a, b] = [self, other].map(|at| at.latitude * PI / 180.0);
        let half = |degrees: f64| libm::sin(degrees * PI / 360.0);
        let across = half(self.latitude - other.latitude);
        let along = half(self.longitude - other.longitude);
        let chord = across * across + libm::cos(a) * libm::cos(b) * along * along;
        // Rounding may lift the chord of antipodes above one.
        2.0 * EARTH_RADIUS_KM * libm::asin(libm::sqrt(chord.min(1.0)))
    }
}

/// Returns the mean position of `all` on the sphere; `None` if there are none, or if they cancel each other, like the
/// two poles.
pub fn mean(all: impl Iterator<Item = Coordinates>) -> Option<Coordinates> {
    let mut sum = [0.0; 3];
    for at in all {
        let [latitude, longitude] = [at.latitude, at.longitude].map(|it| it * PI / 180.0);
        let flat = libm::cos(latitude);
        sum[0] += flat * libm::cos(longitude);
        sum[1] += flat * libm::sin(longitude);
        sum[2] += libm::sin(latitude);
    }
    let [x, y, z] = sum;
    if libm::sqrt(x * x + y * y + z * z) < 1e-9 {
        return None;
    }
    Some(Coordinates {
        latitude: libm::atan2(z, libm::sqrt(x * x + y * y)) * 180.0 / PI,
        longitude: libm::atan2(y, x) * 180.0 / PI,
    })
}

/// Mean radius of the earth in kilometres (IUGG, R1).
const EARTH_RADIUS_KM: f64 = 6_371.008_8;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(latitude: f64, longitude: f64) -> Coordinates {
        Coordinates {
            latitude,
            longitude,
        }
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn a_quarter_of_the_equator_and_a_meridian_are_a_quarter_of_the_circumference() {
        let quarter = EARTH_RADIUS_KM * PI / 2.0;
        assert!(is_near(at(0.0, 0.0).distance_km(at(0.0, 90.0)), quarter));
        assert!(is_near(at(0.0, 5.0).distance_km(at(90.0, 5.0)), quarter));
        // Across the date line, the way is the short one.
        let degree = quarter / 90.0;
        assert!(is_near(at(0.0, 179.5).distance_km(at(0.0, -179.5)), degree));
        assert!(is_near(
            at(0.0, 0.0).distance_km(at(0.0, 180.0)),
            2.0 * quarter
        ));
    }

    #[test]
    fn the_mean_is_half_way_and_antipodes_have_none() {
        let found = mean([at(0.0, 170.0), at(0.0, -170.0)].into_iter()).unwrap();
        assert!(is_near(found.latitude, 0.0) && is_near(found.longitude.abs(), 180.0));
        assert_eq!(mean([at(90.0, 0.0), at(-90.0, 0.0)].into_iter()), None);
        assert_eq!(mean([].into_iter()), None);
    }
}
