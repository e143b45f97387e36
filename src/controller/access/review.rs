//! The two reviews: what is asked of the API server about a token, and what its answers mean.

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};

use super::{ACCESS_REVIEWS, Page, TOKEN_REVIEWS, Trouble, Verdict};

/// The most of a user's name that is kept and shown: what Kubernetes itself makes has at most 320 characters.
const NAME_MAX: usize = 320;

/// Asks whose a token is. Without audiences the API server takes those tokens that are meant for itself.
pub fn identify(token: &str) -> TokenReview {
    TokenReview { spec: TokenReviewSpec { token: token.to_owned(), audiences: None }, ..TokenReview::default() }
}

/// Whose a token is; nobody's is `None`.
///
/// # Errors
/// An answer that says nothing.
pub fn identified(review: TokenReview) -> Result<Option<UserInfo>, Trouble> {
    let nothing = Trouble::Empty(TOKEN_REVIEWS);
    let status = review.status.ok_or(nothing)?;
    if status.authenticated != Some(true) {
        return Ok(None);
    }
    status.user.filter(|user| user.username.as_ref().is_some_and(|name| !name.is_empty())).map(Some).ok_or(nothing)
}

/// Asks whether somebody may read a page. All that the API server said of them goes back to it.
pub fn permit(user: &UserInfo, page: Page) -> SubjectAccessReview {
    let attributes = NonResourceAttributes { path: Some(page.path().to_owned()), verb: Some("get".to_owned()) };
    let UserInfo { extra, groups, uid, username } = user.clone();
    let (user, non_resource_attributes) = (username, Some(attributes));
    let spec = SubjectAccessReviewSpec {
        extra,
        groups,
        non_resource_attributes,
        uid,
        user,
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

/// Whether they may.
///
/// # Errors
/// An answer that says nothing.
pub fn permitted(user: &UserInfo, review: SubjectAccessReview) -> Result<Verdict, Trouble> {
    let status = review.status.ok_or(Trouble::Empty(ACCESS_REVIEWS))?;
    if status.allowed && status.denied != Some(true) {
        return Ok(Verdict::Allowed);
    }
    let name = user.username.iter().flat_map(|name| name.chars()).take(NAME_MAX).collect::<String>();
    Ok(Verdict::Forbidden { user: name.into() })
}
